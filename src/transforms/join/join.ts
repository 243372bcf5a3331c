import { z } from 'zod';
import { hasField, jsonText, setField } from '../../lib/text/json.ts';
import { exactField } from '../../lib/text/json-literal.ts';
import { fieldOf, forgetFields, withField, type RecordSchema } from '../../kit/record-schema.ts';
import { optional, text } from '../../kit/schema.ts';
import { defineTransform } from '../../kit/transform.ts';
import { editing } from '../per-record.ts';

const schema = z.lazy(() =>
  z.strictObject({
    field: text().meta({ description: 'Top-level field with a list; other values stay.' }),
    delimiter: z.string().meta({ description: 'Text between the elements.' }),
    into: optional(text()).meta({
      description: 'Writes the text to this field and keeps the list.',
    }),
  }),
);

export const join = defineTransform<z.infer<typeof schema>>({
  type: 'join',
  description:
    'Joins a list into a text: texts as they are, null as nothing, other elements as JSON.',
  config: schema,
  examples: [
    {
      config: { field: 'v', delimiter: '-' },
      input: [{ v: ['a', null, 1, [true]] }, { v: 'x' }],
      output: [{ v: 'a--1-[true]' }, { v: 'x' }],
    },
    {
      config: { field: 'v', delimiter: ',', into: 't' },
      input: [{ v: [] }],
      output: [{ v: [], t: '' }],
    },
  ],
  reads: (config) => ({ kind: 'fields', names: [config.field] }),
  columns: ({ field, into }) =>
    into === undefined ? { kind: 'identity' } : { kind: 'derive', fields: { [into]: [field] } },
  schema: ({ field, into = field }, input) => joinedSchema(input, field, into),
  compile: ({ field, delimiter, into = field }) =>
    editing((record) => {
      const value = hasField(record, field) ? record[field] : undefined;
      if (!Array.isArray(value)) return;
      setField(
        record,
        into,
        value
          .map((_, index) => exactField(value, String(index)))
          .map((element) => (element === null ? '' : jsonText(element)))
          .join(delimiter),
      );
    }),
});

/** Only lists become texts; a record with another value keeps what it has in `into`. */
function joinedSchema(input: RecordSchema, field: string, into: string): RecordSchema {
  const from = fieldOf(input, field);
  if (from === undefined) return input.others === true ? forgetFields(input, [into]) : input;
  if (from.type.kind === 'json') return forgetFields(input, [into]);
  if (from.type.kind !== 'list') return input;
  const joined = { name: into, type: { kind: 'utf8' }, nullable: true } as const;
  if (into === field) return withField(input, joined);
  const before = fieldOf(input, into);
  if (before !== undefined && before.type.kind !== 'utf8') return forgetFields(input, [into]);
  return { ...withField(input, joined), others: true };
}
