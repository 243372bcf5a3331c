import { z } from 'zod';
import { hasField, setField, type JsonObject } from '../lib/text/json.ts';
import { keepForm } from '../lib/value-form.ts';
import { mapFields } from '../kit/record-schema.ts';
import { defineTransform } from '../kit/transform.ts';
import { fieldNames, mapping } from './per-record.ts';

const schema = z.lazy(() => z.strictObject({ fields: fieldNames('Fields to remove.') }));

export const drop = defineTransform<z.infer<typeof schema>>({
  type: 'drop',
  description: 'Removes the listed fields.',
  config: schema,
  examples: [
    {
      config: { fields: ['b', 'z'] },
      input: [{ a: 1, b: 2, c: 3 }, [1]],
      output: [{ a: 1, c: 3 }, [1]],
    },
  ],
  reads: (config) => ({ kind: 'fields', names: config.fields }),
  columns: (config) => ({ kind: 'drop', fields: config.fields }),
  schema: ({ fields }, input) =>
    mapFields(input, (field) => (fields.includes(field.name) ? undefined : field)),
  worksOnColumns: () => true,
  compile(config) {
    const gone = new Set(config.fields);
    const keep = (record: JsonObject): JsonObject => {
      if (!config.fields.some((name) => hasField(record, name))) return record;
      // Copying the rest keeps objects in their fast form; `delete` would not.
      const kept: JsonObject = {};
      for (const name of Object.keys(record)) {
        if (gone.has(name)) continue;
        setField(kept, name, record[name] ?? null);
        keepForm(record, name, kept, name);
      }
      return kept;
    };
    return mapping(keep, (columns) =>
      columns.picked(columns.names.filter((name) => !gone.has(name))),
    );
  },
});
