import { z } from 'zod';
import { setField } from '../lib/json.ts';
import { json, text } from '../kit/schema.ts';
import { defineTransform } from '../kit/transform.ts';
import { editing } from './per-record.ts';

const schema = z.strictObject({
  values: z.record(text(), json()).meta({
    description: 'Fields to write, with any JSON value; existing fields are overwritten. `${now.*}` may stand in texts.',
  }),
});

export const set = defineTransform<z.infer<typeof schema>>({
  type: 'set',
  description: 'Writes constant values into every record.',
  config: schema,
  examples: [
    {
      config: { values: { origin: 'crm', tags: ['a'] } },
      input: [{ id: 1, origin: 'x' }, 'plain'],
      output: [{ id: 1, origin: 'crm', tags: ['a'] }, 'plain'],
    },
  ],
  runtimeTokens: true,
  reads: () => ({ kind: 'fields', names: [] }),
  columns: (config) => ({ kind: 'add', fields: Object.keys(config.values) }),
  compile(config) {
    const entries = Object.entries(config.values);
    return editing((record) => {
      for (const [name, value] of entries) setField(record, name, value);
    });
  },
});
