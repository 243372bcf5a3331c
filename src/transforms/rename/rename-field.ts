import { z } from 'zod';
import { RecordError } from '../../lib/errors.ts';
import { hasField, setField, type JsonObject } from '../../lib/text/json.ts';
import { keepForm } from '../../lib/value-form.ts';
import { finding, text } from '../../kit/schema.ts';
import { withNames } from '../../kit/record-schema.ts';
import { defineTransform } from '../../kit/transform.ts';
import { mapping } from '../per-record.ts';
import { renamedColumns } from './rename-tree.ts';

const schema = z.lazy(() =>
  z
    .strictObject({
      fields: z.record(text(), text()).meta({
        description:
          'Old name to new name. All renames look at the record as it came, so chains and swaps work.',
        examples: [{ first: 'second', second: 'first' }],
      }),
    })
    .superRefine((config, ctx) => {
      const sourceOf = new Map<string, string>();
      for (const [from, to] of renames(config.fields)) {
        const earlier = sourceOf.get(to);
        if (earlier !== undefined) {
          const message = `\`${earlier}\` and \`${from}\` would both become \`${to}\``;
          ctx.addIssue(
            finding('invalid_value', message, {
              path: ['fields', from],
              hint: 'give each field its own new name',
            }),
          );
        }
        sourceOf.set(to, from);
      }
    }),
);

function renames(fields: Readonly<Record<string, string>>): [string, string][] {
  return Object.entries(fields).filter(([from, to]) => from !== to);
}

export const renameField = defineTransform<z.infer<typeof schema>>({
  type: 'rename_field',
  description: 'Gives top-level fields other names; values and their order stay.',
  config: schema,
  examples: [
    {
      config: { fields: { a: 'b', b: 'a' } },
      input: [{ a: 1, b: 2, c: 3 }],
      output: [{ b: 1, a: 2, c: 3 }],
    },
    {
      config: { fields: { id: 'key', gone: 'x' } },
      input: [{ id: 7 }, null],
      output: [{ key: 7 }, null],
    },
  ],
  reads: (config) => ({ kind: 'fields', names: renames(config.fields).map(([from]) => from) }),
  columns: (config) => ({ kind: 'rename', fields: Object.fromEntries(renames(config.fields)) }),
  schema: ({ fields: names }, input) =>
    withNames(input, (name) => (Object.hasOwn(names, name) ? (names[name] as string) : name)),
  worksOnColumns: () => true,
  compile(config) {
    const targets = new Map(renames(config.fields));
    const rename = (record: JsonObject): JsonObject => {
      const renamed: JsonObject = {};
      for (const name of Object.keys(record)) {
        const to = targets.get(name);
        if (to !== undefined && hasField(record, to) && !targets.has(to)) {
          throw new RecordError(
            'Transform',
            `\`${name}\` cannot become \`${to}\`, the record already has that field`,
            {
              hint: `drop or rename \`${to}\` first`,
            },
          );
        }
        setField(renamed, to ?? name, record[name] ?? null);
        keepForm(record, name, renamed, to ?? name);
      }
      return renamed;
    };
    return mapping(rename, (columns) =>
      renamedColumns(columns, (name) => targets.get(name) ?? name),
    );
  },
});
