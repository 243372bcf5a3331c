import { z } from 'zod';
import { hasField, isObject, type JsonValue } from '../../lib/text/json.ts';
import { finding } from '../../kit/schema.ts';

/**
 * Paths into nested payloads such as reports: `.key` and `[n]` steps after an optional `$`; the
 * first key needs no dot.
 */
const PATH = /^(?:[^.[\]$]+|\[[0-9]+\])(?:\.[^.[\]]+|\[[0-9]+\])*$/;
const STEP = /[^.[\]]+|\[[0-9]+\]/g;

function withoutRoot(path: string): string {
  return path.replace(/^\$\.?/, '');
}

export function itemPathField(description: string) {
  return z
    .string()
    .superRefine((value, ctx) => {
      if (!PATH.test(withoutRoot(value))) {
        const message = value === '' ? 'a path must not be empty' : `\`${value}\` is not a path`;
        ctx.addIssue(
          finding('invalid_path', message, {
            hint: 'write steps as `.key` and `[0]`, for example `rows.data[0]`',
          }),
        );
      }
    })
    .meta({ description, examples: ['rows.data', '$.columns[0].name'] });
}

/**
 * Compiles a path that the schema has let through. `undefined` when anything on the way is missing.
 */
export function itemReader(path: string): (value: JsonValue) => JsonValue | undefined {
  const steps = (withoutRoot(path).match(STEP) ?? []).map((step) =>
    step.startsWith('[') ? Number(step.slice(1, -1)) : step,
  );
  return (value) => {
    let at: JsonValue | undefined = value;
    for (const step of steps) {
      if (typeof step === 'number') at = Array.isArray(at) ? at[step] : undefined;
      else at = isObject(at) && hasField(at, step) ? at[step] : undefined;
      if (at === undefined) return undefined;
    }
    return at;
  };
}
