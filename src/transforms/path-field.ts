import { z } from 'zod';
import { finding } from '../kit/schema.ts';
import { parseFieldPath, type FieldPath } from '../kit/field-path.ts';
import { assert } from '../lib/errors.ts';

/** A config field that holds a path to a value inside the record. */
export function pathField(description: string) {
  return z
    .string()
    .superRefine((value, ctx) => {
      const parsed = parseFieldPath(value);
      if ('error' in parsed) ctx.addIssue(finding('invalid_path', parsed.error, { hint: "for example `$.user.id` or `$['a key']`" }));
    })
    .meta({ description, examples: ['status', '$.user.id'] });
}

/** The steps of a path that the schema has let through. */
export function stepsOf(path: string): FieldPath {
  const parsed = parseFieldPath(path);
  assert(!('error' in parsed), 'the schema has checked this path');
  return parsed;
}
