import { z } from 'zod';
import { hasField, setField } from '../lib/text/json.ts';
import { boolean, optional, text } from '../kit/schema.ts';
import { fieldOf, forgetFields, isTextForm, withTypes } from '../kit/record-schema.ts';
import { defineTransform } from '../kit/transform.ts';
import { editing } from './per-record.ts';

const schema = z.lazy(() =>
  z.strictObject({
    field: text().meta({ description: 'Top-level text field; values that are not text stay.' }),
    delimiter: z.string().meta({
      description: 'What stands between the parts; with an empty one the text stays whole.',
    }),
    trim: boolean()
      .default(false)
      .meta({ description: 'Whether blanks around the parts are removed.' }),
    into: optional(text()).meta({
      description: 'Writes the list to this field and keeps the text.',
    }),
  }),
);

export const split = defineTransform<z.infer<typeof schema>>({
  type: 'split',
  description: 'Splits a text into a list; empty parts are kept.',
  config: schema,
  examples: [
    {
      config: { field: 'tags', delimiter: ',', trim: true },
      input: [{ tags: 'a, b,' }, { tags: 1 }],
      output: [{ tags: ['a', 'b', ''] }, { tags: 1 }],
    },
    {
      config: { field: 'tags', delimiter: '', into: 'list' },
      input: [{ tags: 'ab' }, {}],
      output: [{ tags: 'ab', list: ['ab'] }, {}],
    },
  ],
  reads: (config) => ({ kind: 'fields', names: [config.field] }),
  columns: ({ field, into }) =>
    into === undefined ? { kind: 'identity' } : { kind: 'derive', fields: { [into]: [field] } },
  schema: ({ field, into = field }, input) => {
    const type = fieldOf(input, field)?.type;
    // Values that are not text stay.
    if (type !== undefined && !isTextForm(type) && type.kind !== 'json') return input;
    if (type === undefined || type.kind === 'json' || into !== field)
      return forgetFields(input, [into]);
    return withTypes(input, [field], { kind: 'list', item: { kind: 'utf8' } });
  },
  compile: ({ field, delimiter, trim, into = field }) =>
    editing((record) => {
      const value = hasField(record, field) ? record[field] : undefined;
      if (typeof value !== 'string') return;
      const parts = delimiter === '' ? [value] : value.split(delimiter);
      setField(record, into, trim ? parts.map((part) => part.trim()) : parts);
    }),
});
