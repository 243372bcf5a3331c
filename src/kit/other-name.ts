import { z, type ZodType } from 'zod';
import { isObject } from '../lib/text/json.ts';

/**
 * Reads the field `other`, as documents from elsewhere write it, as `name`. Where both are written
 * they stay, so that a strict schema reports the one that it does not know.
 */
export function otherName<T extends ZodType>(other: string, name: string, schema: T) {
  return z.preprocess((value) => {
    if (!isObject(value) || !(other in value) || name in value) return value;
    const { [other]: written, ...rest } = value;
    return { ...rest, [name]: written };
  }, schema);
}
