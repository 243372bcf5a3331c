/** Logins of brokers: `{type, config: {…}}`. */
import { z } from 'zod';
import { isObject } from '../../lib/text/json.ts';
import { spelled } from '../_http/fields.ts';

export function loginKind<const T extends string, S extends z.ZodType>(type: T, config: S) {
  return z.strictObject({
    type: z.literal(type).meta({ description: 'Kind of login.' }),
    config: config.meta({ description: 'Fields of this kind of login.' }),
  });
}

export function noLogin() {
  return loginKind(
    'none',
    z.preprocess((value) => value ?? {}, z.strictObject({})),
  );
}

/** `token`, `{type, token: …}` and `{type, config: {…}}` are the same; some fields have two names. */
export function nestedLogin(
  tags: readonly string[],
  otherNames: Readonly<Record<string, string>> = {},
): (value: unknown) => unknown {
  const spell = spelled(tags);
  const renamed = (fields: Readonly<Record<string, unknown>>): Record<string, unknown> =>
    Object.fromEntries(
      Object.entries(fields).map(([name, value]) => [otherNames[name] ?? name, value]),
    );
  return (value) => {
    if (typeof value === 'string') return { type: spell(value), config: {} };
    if (!isObject(value)) return value;
    const { type, config, ...flat } = value;
    const named = { type: spell(type) };
    if (config === undefined || config === null) return { ...named, config: renamed(flat) };
    return { ...named, config: isObject(config) ? renamed(config) : config, ...flat };
  };
}
