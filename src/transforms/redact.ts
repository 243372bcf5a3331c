import { z } from 'zod';
import { hasField, type JsonObject } from '../lib/text/json.ts';
import { json } from '../kit/schema.ts';
import { forgetFields, typeOfConstant, withTypes } from '../kit/record-schema.ts';
import { defineTransform } from '../kit/transform.ts';
import { changedColumns, editing, fieldNames } from './per-record.ts';

const schema = z.lazy(() =>
  z.strictObject({
    fields: fieldNames('Fields whose value is replaced, null included.'),
    mask: json().default('***').meta({ description: 'Value in place of the old one: any JSON.' }),
  }),
);

export const redact = defineTransform<z.infer<typeof schema>>({
  type: 'redact',
  description: 'Replaces the values of the listed fields by a fixed mask.',
  config: schema,
  examples: [
    {
      config: { fields: ['ssn'] },
      input: [{ id: 1, ssn: '123' }, { id: 2 }],
      output: [{ id: 1, ssn: '***' }, { id: 2 }],
    },
    { config: { fields: ['ssn'], mask: null }, input: [{ ssn: '123' }], output: [{ ssn: null }] },
  ],
  reads: (config) => ({ kind: 'fields', names: config.fields }),
  columns: () => ({ kind: 'identity' }),
  schema: ({ fields, mask }, input) => {
    const type = typeOfConstant(mask);
    return type === undefined ? forgetFields(input, fields) : withTypes(input, fields, type);
  },
  worksOnColumns: () => true,
  compile({ fields, mask }) {
    const hide = (record: JsonObject): void => {
      for (const name of fields) {
        if (hasField(record, name)) record[name] = mask;
      }
    };
    return editing(hide, (columns) => changedColumns(columns, fields, () => mask));
  },
});
