import { z, type ZodType } from 'zod';

/** A field with a default, for which an explicit `null` means the same as absence. */
export function nullAsAbsent<T extends ZodType>(schema: T) {
  return z.preprocess((value) => (value === null ? undefined : value), schema);
}
