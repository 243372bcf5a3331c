/** How a message names the value that it refuses, without what nobody may read. */
import { isSecretKey } from '../lib/http/redact-uri.ts';
import { alternatives, shapesAt, type JsonSchema } from './json-schema.ts';

export interface FoundAt {
  readonly shape: JsonSchema;
  readonly steps: readonly (string | number)[];
}

/** An address that may hold a login, before the host or as a parameter. */
const MAY_HOLD_LOGIN = /:\/\/(?:[^/]*@|.*\?)/;

export function describeValue(value: unknown, at: FoundAt): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'object') return 'a mapping';
  if (typeof value === 'boolean') return String(value);
  if (mayBeSecret(at)) return typeof value === 'string' ? 'a text' : 'a number';
  return typeof value === 'string'
    ? describeText(value)
    : `${value as number | bigint | undefined}`;
}

function describeText(value: string): string {
  if (MAY_HOLD_LOGIN.test(value)) return 'this address';
  return value.length > 60 ? 'a long text' : JSON.stringify(value);
}

/**
 * Whether the place is secret, or part of one that is. Where a mapping or a list with a secret
 * should be, authors write the secret itself (`encryption: my-key`).
 */
function mayBeSecret({ shape, steps }: FoundAt): boolean {
  if (steps.some((step) => step === 'headers' || isSecretKey(String(step)))) return true;
  const around = steps.flatMap((_, index) => shapesAt(shape, steps.slice(0, index)));
  return (
    around.flatMap(alternatives).some(isSecret) ||
    shapesAt(shape, steps).some((one) => holdsSecret(one))
  );
}

function isSecret(shape: JsonSchema): boolean {
  return shape['secret'] === true;
}

function holdsSecret(shape: JsonSchema): boolean {
  return alternatives(shape).some((one) => {
    const { properties = {}, items, additionalProperties: entry } = one;
    const below = [...Object.values(properties), items, entry];
    return isSecret(one) || below.some((inner) => typeof inner === 'object' && holdsSecret(inner));
  });
}
