import { z } from 'zod';
import { hasField, isObject, type JsonObject, type JsonValue } from '../../lib/text/json.ts';
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
  const place = itemPlace(path);
  return (value) => {
    const found = place(value);
    return found === undefined ? undefined : valueAt(found);
  };
}

/** Where a value stands: what is remembered of it, such as how a number is written, is there. */
export interface ItemPlace {
  readonly holder: JsonObject | JsonValue[];
  readonly key: string;
}

export function valueAt({ holder, key }: ItemPlace): JsonValue {
  return (holder as JsonObject)[key] as JsonValue;
}

export function itemPlace(path: string): (value: JsonValue) => ItemPlace | undefined {
  const steps = (withoutRoot(path).match(STEP) ?? []).map((step) =>
    step.startsWith('[') ? Number(step.slice(1, -1)) : step,
  );
  return (value) => {
    let at = value;
    let place: ItemPlace | undefined;
    for (const step of steps) {
      place = stepInto(at, step);
      if (place === undefined) return undefined;
      at = valueAt(place);
    }
    return place;
  };
}

function stepInto(value: JsonValue, step: number | string): ItemPlace | undefined {
  if (typeof step === 'number')
    return Array.isArray(value) && step < value.length
      ? { holder: value, key: String(step) }
      : undefined;
  return isObject(value) && hasField(value, step) ? { holder: value, key: step } : undefined;
}
