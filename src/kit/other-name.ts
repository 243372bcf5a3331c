import { z, type ZodType } from 'zod';
import { isObject } from '../lib/text/json.ts';

/**
 * Reads the field `other`, as documents from elsewhere write it, as `name`; faults are reported
 * where it is written. Where both are written they stay, so that a strict schema reports the one
 * that it does not know.
 */
export function otherName<T extends ZodType>(other: string, name: string, schema: T) {
  const isOther = (value: unknown): value is object =>
    isObject(value) && other in value && !(name in value);
  const renamed = z.preprocess((value) => {
    if (!isOther(value)) return value;
    const { [other]: written, ...rest } = value as Record<string, unknown>;
    return { ...rest, [name]: written };
  }, schema);
  const internals = renamed._zod;
  const run = internals.run.bind(internals);
  internals.run = (payload, context) => {
    if (!isOther(payload.value)) return run(payload, context);
    const result = run(payload, context);
    return result instanceof Promise ? result.then(asWritten) : asWritten(result);
  };
  const asWritten = (payload: z.core.ParsePayload): z.core.ParsePayload => {
    for (const { path = [] } of payload.issues) if (path[0] === name) path[0] = other;
    return payload;
  };
  return renamed;
}
