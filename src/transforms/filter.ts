import { z } from 'zod';
import { jsonEqual, type JsonValue } from '../lib/text/json.ts';
import { memberOf } from '../lib/member-of.ts';
import { rowsWhere } from '../kit/cells.ts';
import { readerOf } from '../kit/field-path.ts';
import { pathField, stepsOf } from '../kit/path-field.ts';
import { finding, json } from '../kit/schema.ts';
import { defineTransform } from '../kit/transform.ts';

const OPS = ['eq', 'ne', 'exists', 'in', 'not_in'] as const;

const schema = z.lazy(() =>
  z
    .strictObject({
      path: pathField('Where the value stands in the record.'),
      op: z.enum(OPS).meta({
        description:
          '`eq` and `in` need the value to be there, `ne` and `not_in` keep records without it, `exists` needs it to be there and not null.',
      }),
      value: json().optional().meta({
        description:
          'What to compare with: any JSON for `eq` and `ne` (null included), a list for `in` and `not_in`.',
      }),
    })
    .superRefine((config, ctx) => {
      if (config.op === 'exists' && config.value !== undefined) {
        ctx.addIssue(
          finding('invalid_value', '`exists` takes no `value`', {
            path: ['value'],
            hint: 'remove `value`, or use `eq`',
          }),
        );
      } else if (config.op !== 'exists' && config.value === undefined) {
        ctx.addIssue(
          finding('missing_key', `\`${config.op}\` needs a \`value\``, { path: ['value'] }),
        );
      } else if ((config.op === 'in' || config.op === 'not_in') && !Array.isArray(config.value)) {
        const hint =
          config.op === 'in'
            ? 'to compare with one value use `eq`'
            : 'to compare with one value use `ne`';
        ctx.addIssue(
          finding('wrong_type', `\`${config.op}\` needs a list as \`value\``, {
            path: ['value'],
            hint,
          }),
        );
      }
    }),
);

type FilterConfig = z.infer<typeof schema>;

export const filter = defineTransform<FilterConfig>({
  type: 'filter',
  description:
    'Keeps the records for which a comparison holds; values are compared without conversion.',
  config: schema,
  examples: [
    {
      config: { path: 'status', op: 'eq', value: 'open' },
      input: [{ id: 1, status: 'open' }, { id: 2, status: 'closed' }, { id: 3 }],
      output: [{ id: 1, status: 'open' }],
    },
    {
      config: { path: '$.user.role', op: 'not_in', value: ['bot', 'test'] },
      input: [{ user: { role: 'bot' } }, { user: { role: 'admin' } }, { user: {} }],
      output: [{ user: { role: 'admin' } }, { user: {} }],
    },
    {
      config: { path: 'gone_at', op: 'eq', value: null },
      input: [{ gone_at: null }, { gone_at: 1 }, {}],
      output: [{ gone_at: null }],
    },
  ],
  reads: (config) => ({ kind: 'fields', names: stepsOf(config.path).slice(0, 1) }),
  columns: () => ({ kind: 'identity' }),
  schema: (_config, input) => input,
  worksOnColumns: () => true,
  compile(config) {
    const path = stepsOf(config.path);
    const read = readerOf(path);
    const holds = predicateOf(config);
    return {
      kind: 'record',
      onColumns: (columns) => columns.kept(rowsWhere(columns, path, holds)),
      apply(record, emit) {
        if (holds(read(record))) emit(record);
      },
    };
  },
});

function predicateOf(config: FilterConfig): (found: JsonValue | undefined) => boolean {
  const value = config.value ?? null;
  const isMember = memberOf(Array.isArray(value) ? value : []);
  switch (config.op) {
    case 'eq':
      return (found) => jsonEqual(found, value);
    case 'ne':
      return (found) => !jsonEqual(found, value);
    case 'exists':
      return (found) => found !== undefined && found !== null;
    case 'in':
      return isMember;
    case 'not_in':
      return (found) => !isMember(found);
    default:
      return config.op satisfies never;
  }
}
