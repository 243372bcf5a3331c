import { z } from 'zod';
import { text } from '../../kit/schema.ts';

/**
 * How a record becomes a row: one column for each field, or the whole record as JSON in one column.
 */
export type ColumnMapping =
  | { readonly kind: 'auto' }
  | { readonly kind: 'json'; readonly column: string };

const DEFAULT_COLUMN = 'data';

/**
 * Accepts `auto_map`, `{json: {column}}` or `{jsonb: {column}}`, and also `{type: …, column}` and
 * the words alone.
 */
export function columnMapping(byDefault: 'auto_map' | 'json' = 'json') {
  const column = text()
    .default(DEFAULT_COLUMN)
    .meta({ description: 'Column that holds the record.' });
  const inner = z.strictObject({ column });
  const written = z.union([
    z.enum(['auto_map', 'json', 'jsonb']),
    z.strictObject({
      type: z.literal('auto_map').meta({ description: 'One column for each field.' }),
    }),
    z.strictObject({
      type: z.enum(['json', 'jsonb']).meta({ description: 'The whole record as JSON.' }),
      column,
    }),
    z.strictObject({
      json: inner.meta({ description: 'The whole record as JSON in one column.' }),
    }),
    z.strictObject({
      jsonb: inner.meta({ description: 'The whole record as JSON in one column.' }),
    }),
  ]);
  return z
    .preprocess((value) => value ?? undefined, written.optional())
    .transform((value) => normalize(value ?? byDefault))
    .meta({
      description:
        'How a record becomes a row: `auto_map` stores every field in its own column, `{json: {column}}` stores the record in one column (default: `data`).' +
        (byDefault === 'json' ? '' : ' Unset: `auto_map`.'),
      examples: ['auto_map', { json: { column: 'data' } }],
    });
}

function normalize(written: unknown): ColumnMapping {
  const value = written as
    | string
    | { type?: string; column?: string; json?: { column: string }; jsonb?: { column: string } };
  if (value === 'auto_map') return { kind: 'auto' };
  if (typeof value === 'string') return { kind: 'json', column: DEFAULT_COLUMN };
  if (value.type === 'auto_map') return { kind: 'auto' };
  return {
    kind: 'json',
    column: value.json?.column ?? value.jsonb?.column ?? value.column ?? DEFAULT_COLUMN,
  };
}
