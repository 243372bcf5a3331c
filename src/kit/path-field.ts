import { z } from 'zod';
import { assert } from '../lib/errors.ts';
import { parseFieldPath, type FieldPath } from './field-path.ts';
import { finding } from './schema.ts';

/** A config field that holds a path to a value inside the record. */
export function pathField(description: string) {
  return z
    .string()
    .superRefine(checkPath)
    .meta({ description, examples: ['status', '$.user.id'] });
}

/** Adds a finding when the text is not a path. */
export function checkPath(value: string, ctx: z.RefinementCtx): void {
  const parsed = parseFieldPath(value);
  if ('error' in parsed)
    ctx.addIssue(
      finding('invalid_path', parsed.error, { hint: "for example `$.user.id` or `$['a key']`" }),
    );
}

/** The steps of a path that the schema has already checked. */
export function stepsOf(path: string): FieldPath {
  const parsed = parseFieldPath(path);
  assert(!('error' in parsed), 'the schema has checked this path');
  return parsed;
}
