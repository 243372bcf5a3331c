import { z } from 'zod';
import { hasField, setField, type JsonObject } from '../lib/text/json.ts';
import { keepForm } from '../lib/value-form.ts';
import { fieldOf } from '../kit/record-schema.ts';
import { defineTransform } from '../kit/transform.ts';
import { fieldNames, mapping } from './per-record.ts';

const schema = z.lazy(() =>
  z.strictObject({ fields: fieldNames('Fields to keep, in the order they come out.') }),
);

export const select = defineTransform<z.infer<typeof schema>>({
  type: 'select',
  description: 'Keeps only the listed fields, in the listed order.',
  config: schema,
  examples: [
    {
      config: { fields: ['b', 'a', 'z'] },
      input: [{ a: 1, b: null, c: 3 }],
      output: [{ b: null, a: 1 }],
    },
  ],
  reads: (config) => ({ kind: 'fields', names: config.fields }),
  columns: (config) => ({ kind: 'select', fields: config.fields }),
  schema: ({ fields }, input) => {
    const kept = [...new Set(fields)].flatMap((name) => fieldOf(input, name) ?? []);
    return { ...input, fields: kept };
  },
  worksOnColumns: () => true,
  compile(config) {
    const keep = (record: JsonObject): JsonObject => {
      const kept: JsonObject = {};
      for (const name of config.fields) {
        if (!hasField(record, name)) continue;
        setField(kept, name, record[name] ?? null);
        keepForm(record, name, kept, name);
      }
      return kept;
    };
    return mapping(keep, (columns) => columns.picked(config.fields));
  },
});
