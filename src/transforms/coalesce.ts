import { z } from 'zod';
import { hasField, setField, type JsonObject, type JsonValue } from '../lib/text/json.ts';
import { keepForm } from '../lib/value-form.ts';
import { boolean, finding, json, optional, text } from '../kit/schema.ts';
import { fieldOf, forgetFields, typeOfConstant } from '../kit/record-schema.ts';
import { defineTransform } from '../kit/transform.ts';
import { typeText } from '../kit/type-text.ts';
import { editing } from './per-record.ts';

const schema = z.lazy(() =>
  z
    .strictObject({
      field: text().meta({ description: 'Top-level field to fill when it is missing or null.' }),
      default: json()
        .optional()
        .meta({ description: 'The value to fill in: any JSON, null included.' }),
      from: optional(z.array(text()).min(1)).meta({
        description: 'Fields to take the first value from that is not null.',
      }),
      treat_empty_string_as_null: boolean()
        .default(false)
        .meta({ description: 'Whether an empty text counts as null.' }),
    })
    .superRefine((config, ctx) => {
      if ((config.default === undefined) !== (config.from === undefined)) return;
      const message =
        config.from === undefined
          ? 'give `default` or `from`'
          : 'give `default` or `from`, not both';
      ctx.addIssue(finding(config.from === undefined ? 'missing_key' : 'invalid_value', message));
    }),
);

export const coalesce = defineTransform<z.infer<typeof schema>>({
  type: 'coalesce',
  description:
    'Fills a field that is missing or null with a constant or with the first value of other fields.',
  config: schema,
  examples: [
    {
      config: { field: 'n', default: 0 },
      input: [{ n: null }, {}, { n: 5 }],
      output: [{ n: 0 }, { n: 0 }, { n: 5 }],
    },
    {
      config: { field: 'name', from: ['nick', 'mail'], treat_empty_string_as_null: true },
      input: [{ name: '', nick: '', mail: 'a@b.io' }, { name: '' }],
      output: [{ name: 'a@b.io', nick: '', mail: 'a@b.io' }, { name: '' }],
    },
  ],
  reads: (config) => ({ kind: 'fields', names: [config.field, ...(config.from ?? [])] }),
  columns: ({ field, from }) =>
    from === undefined
      ? { kind: 'identity' }
      : { kind: 'derive', fields: { [field]: [...new Set([field, ...from])] } },
  schema: ({ field, from, default: fallback }, input) => {
    const before = fieldOf(input, field);
    if (before === undefined) return forgetFields(input, [field]);
    const filled =
      from === undefined
        ? [typeOfConstant(fallback ?? null) ?? before.type]
        : from.map((name) => fieldOf(input, name)?.type);
    const isSame = filled.every(
      (type) => type !== undefined && typeText(type) === typeText(before.type),
    );
    return isSame ? input : forgetFields(input, [field]);
  },
  compile({ field, from, default: fallback, treat_empty_string_as_null: emptyIsNull }) {
    const valueIn = (record: JsonObject, name: string): JsonValue | undefined => {
      const value = hasField(record, name) ? record[name] : undefined;
      return value === null || (emptyIsNull && value === '') ? undefined : value;
    };
    return editing((record) => {
      if (valueIn(record, field) !== undefined) return;
      const first = from?.find((name) => valueIn(record, name) !== undefined);
      const value = first === undefined ? fallback : valueIn(record, first);
      if (value === undefined) return;
      setField(record, field, value);
      if (first !== undefined) keepForm(record, first, record, field);
    });
  },
});
