/** Keys that messages get from their records. */
import { z } from 'zod';
import { readerOf } from '../../kit/field-path.ts';
import { pathField, stepsOf } from '../../kit/path-field.ts';
import { nullAsAbsent, text } from '../../kit/schema.ts';
import { hasField, isObject, jsonText, type JsonValue } from '../../lib/text/json.ts';
import { tagged } from '../_http/fields.ts';

export const bareKey = <const T extends string>(type: T, description: string) =>
  z.strictObject({ type: z.literal(type).meta({ description }) });

export const fieldKey = (description: string) =>
  z.strictObject({
    type: z.literal('field').meta({ description }),
    name: text().meta({ description: 'Name of the field.' }),
  });

export const pathKey = <const T extends string>(type: T, description: string) =>
  z.strictObject({
    type: z.literal(type).meta({ description }),
    path: pathField('Path to the value.'),
  });

/** `default` where it is absent; `random`, `{type: random}` and `{type, config: {…}}` are the same. */
export const keyField = <S extends z.ZodType>(tags: readonly string[], schema: S) =>
  z.preprocess((value) => (value === undefined ? value : tagged(tags)(value ?? undefined)), schema);

/** `none`: what happens without one. */
export const keyOrNone = (none: string) =>
  keyField(
    ['none', 'field', 'jsonpath'],
    nullAsAbsent(
      z
        .discriminatedUnion('type', [
          bareKey('none', none),
          fieldKey('The value of a field.'),
          pathKey('jsonpath', 'A value inside the record.'),
        ])
        .default({ type: 'none' }),
    ),
  );

type ReadValue = (record: JsonValue) => JsonValue | undefined;

/** Reads what a key is made of; `undefined` where it comes from no field. */
export function keyReader(
  of: { readonly path: string } | { readonly name: string } | { readonly type: string },
): ReadValue | undefined {
  if ('path' in of) return readerOf(stepsOf(of.path));
  if (!('name' in of)) return undefined;
  const { name } = of;
  return (record) => (isObject(record) && hasField(record, name) ? record[name] : undefined);
}

/** Empty for what is no single value. */
export function keyText(value: JsonValue | undefined): string {
  return value === undefined || value === null || typeof value === 'object' ? '' : jsonText(value);
}
