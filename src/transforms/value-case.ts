import { z } from 'zod';
import { hasField, type JsonObject, type JsonValue } from '../lib/text/json.ts';
import { isTextForm, mapFields } from '../kit/record-schema.ts';
import { defineTransform } from '../kit/transform.ts';
import { changedColumns, editing, fieldNames } from './per-record.ts';

const CHANGES = {
  lower: (value: string) => value.toLowerCase(),
  upper: (value: string) => value.toUpperCase(),
  trim: (value: string) => value.trim(),
  title: (value: string) => value.replaceAll(/\S+/g, capitalize),
  capitalize,
} as const;

function capitalize(value: string): string {
  const [first = ''] = value;
  return first.toUpperCase() + value.slice(first.length).toLowerCase();
}

const schema = z.lazy(() =>
  z.strictObject({
    fields: fieldNames('Text fields to change; values that are not text stay.'),
    mode: z.enum(['lower', 'upper', 'trim', 'title', 'capitalize']).meta({
      description:
        '`title` raises the first letter of every word, `capitalize` only the first of the text; both lower the rest.',
    }),
  }),
);

export const valueCase = defineTransform<z.infer<typeof schema>>({
  type: 'value_case',
  description: 'Changes upper and lower case, or trims blanks, in text values.',
  config: schema,
  examples: [
    {
      config: { fields: ['name', 'n'], mode: 'title' },
      input: [{ name: 'ADA  lovelace', n: 1 }],
      output: [{ name: 'Ada  Lovelace', n: 1 }],
    },
    {
      config: { fields: ['name'], mode: 'capitalize' },
      input: [{ name: 'ADA Lovelace' }],
      output: [{ name: 'Ada lovelace' }],
    },
    {
      config: { fields: ['name'], mode: 'trim' },
      input: [{ name: ' a ' }, { name: null }],
      output: [{ name: 'a' }, { name: null }],
    },
  ],
  reads: (config) => ({ kind: 'fields', names: config.fields }),
  columns: () => ({ kind: 'identity' }),
  schema: ({ fields, mode }, input) =>
    mapFields(input, (field) =>
      mode !== 'trim' && fields.includes(field.name) && isTextForm(field.type)
        ? { name: field.name, type: { kind: 'utf8' }, nullable: field.nullable }
        : field,
    ),
  worksOnColumns: () => true,
  compile(config) {
    const change = CHANGES[config.mode];
    const ofValue = (value: JsonValue): JsonValue =>
      typeof value === 'string' ? change(value) : value;
    const edit = (record: JsonObject): void => {
      for (const name of config.fields) {
        if (hasField(record, name)) record[name] = ofValue(record[name] as JsonValue);
      }
    };
    return editing(edit, (columns) => changedColumns(columns, config.fields, ofValue));
  },
});
