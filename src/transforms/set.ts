import { z } from 'zod';
import { constantColumn } from '../kit/cells.ts';
import { setField, type JsonObject } from '../lib/text/json.ts';
import { forgetSpelling } from '../lib/text/number-spelling.ts';
import { json, text } from '../kit/schema.ts';
import { withConstant } from '../kit/record-schema.ts';
import { defineTransform } from '../kit/transform.ts';
import { editing } from './per-record.ts';

const schema = z.lazy(() =>
  z.strictObject({
    values: z.record(text(), json()).meta({
      description:
        'Fields to write, with any JSON value; existing fields are overwritten. `${now.*}` may stand in texts.',
    }),
  }),
);

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
  schema: ({ values }, input) =>
    Object.entries(values).reduce(
      (known, [name, value]) => withConstant(known, name, value),
      input,
    ),
  worksOnColumns: () => true,
  compile(config) {
    const entries = Object.entries(config.values);
    const write = (record: JsonObject): void => {
      for (const [name, value] of entries) {
        setField(record, name, value);
        forgetSpelling(record, name);
      }
    };
    return editing(write, (columns) => {
      let written = columns;
      for (const [name, value] of entries) {
        const before = written.column(name);
        if (before !== undefined && !written.isWhole(before)) return undefined;
        written = written.with(name, constantColumn(written, value));
      }
      return written;
    });
  },
});
