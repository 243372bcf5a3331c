import { z } from 'zod';
import { hasField, stringifyJson } from '../lib/text/json.ts';
import { fieldOf, forgetFields, withTypes } from '../kit/record-schema.ts';
import { defineTransform } from '../kit/transform.ts';
import { editing, fieldNames } from './per-record.ts';

const schema = z.lazy(() =>
  z.strictObject({
    fields: fieldNames('Fields whose lists and objects become JSON text; other values stay.'),
  }),
);

export const jsonEncode = defineTransform<z.infer<typeof schema>>({
  type: 'json_encode',
  description: 'Writes lists and objects as compact JSON text.',
  config: schema,
  examples: [
    {
      config: { fields: ['a', 'b', 'c'] },
      input: [{ a: { x: [1] }, b: 'text', c: null }],
      output: [{ a: '{"x":[1]}', b: 'text', c: null }],
    },
  ],
  reads: (config) => ({ kind: 'fields', names: config.fields }),
  columns: () => ({ kind: 'identity' }),
  schema: ({ fields }, input) =>
    fields.reduce((known, name) => {
      const kind = fieldOf(known, name)?.type.kind;
      if (kind === 'list' || kind === 'struct' || kind === 'map')
        return withTypes(known, [name], { kind: 'utf8' });
      // Other values than lists and objects stay.
      return kind === 'json' ? forgetFields(known, [name]) : known;
    }, input),
  compile: (config) =>
    editing((record) => {
      for (const name of config.fields) {
        const value = hasField(record, name) ? record[name] : null;
        if (typeof value === 'object' && value !== null) record[name] = stringifyJson(value);
      }
    }),
});
