import { z } from 'zod';
import {
  hasField,
  isObject,
  jsonEqual,
  jsonText,
  setField,
  type JsonObject,
  type JsonValue,
} from '../lib/text/json.ts';
import { fieldOf, withField, type RecordField, type RecordSchema } from '../kit/record-schema.ts';
import { optional, text } from '../kit/schema.ts';
import { RecordError } from '../lib/errors.ts';
import { typeText } from '../kit/type-text.ts';
import { defineTransform } from '../kit/transform.ts';

const schema = z.lazy(() =>
  z.strictObject({
    op_field: text().default('op').meta({ description: 'Field with the kind of change.' }),
    after_field: text()
      .default('after')
      .meta({ description: 'Field with the row after the change.' }),
    before_field: text()
      .default('before')
      .meta({ description: 'Field with the row before the change.' }),
    key_field: text()
      .default('document_key')
      .meta({ description: 'Field with the key, for deletes without the row before.' }),
    marker_field: text()
      .default('__op')
      .meta({ description: 'Field of the output: `d` for a delete, `u` for everything else.' }),
    delete_ops: z
      .array(text())
      .default(['d', 'delete'])
      .meta({ description: 'Kinds of change that delete.' }),
    drop_ops: z
      .array(text())
      .default(['ddl', 'truncate'])
      .meta({ description: 'Kinds of change that give no record.' }),
    key: optional(z.array(text()).min(1)).meta({
      description:
        'Key of the sink: an update that changes it gives a delete of the row before, and then the row after. The event has to hold the row before, or its key, and all of the row after: one of PostgreSQL without its large values fails.',
      examples: [['id']],
    }),
  }),
);

/** Names of columns that the row of a change of PostgreSQL lacks; no column itself. */
const UNCHANGED = '__unchanged_toast__';

type UnwrapConfig = z.infer<typeof schema>;

export const cdcUnwrap = defineTransform<UnwrapConfig>({
  type: 'cdc_unwrap',
  description:
    'Takes the row out of a change event and marks whether it was deleted. Events without a row are removed, with a warning.',
  config: schema,
  examples: [
    {
      config: {},
      input: [
        { op: 'c', before: null, after: { id: 1, n: 'a' } },
        { op: 'd', before: { id: 1, n: 'a' }, after: null },
        { op: 'delete', document_key: { id: 2 } },
        { op: 'ddl', after: { id: 3 } },
        { op: 'u', after: null },
        { op: 'update', after: { id: 4, __unchanged_toast__: ['n'] } },
      ],
      output: [
        { id: 1, n: 'a', __op: 'u' },
        { id: 1, n: 'a', __op: 'd' },
        { id: 2, __op: 'd' },
        { id: 4, __op: 'u' },
      ],
    },
    {
      config: { key: ['id'] },
      input: [{ op: 'update', before: { id: 1 }, after: { id: 2, n: 'a' } }],
      output: [
        { id: 1, __op: 'd' },
        { id: 2, n: 'a', __op: 'u' },
      ],
    },
  ],
  reads: (config) => ({
    kind: 'fields',
    names: [config.op_field, config.after_field, config.before_field, config.key_field],
  }),
  columns: () => ({ kind: 'opaque' }),
  schema: unwrappedSchema,
  compile(config, { env }) {
    const deletes = new Set(config.delete_ops);
    const drops = new Set(config.drop_ops);
    const log = env.log.at('headgate::transform::cdc_unwrap');
    let rowless = 0;
    return {
      kind: 'record',
      apply(record, emit) {
        if (!isObject(record)) return emit(record);
        const op = hasField(record, config.op_field)
          ? jsonText(record[config.op_field] as JsonValue)
          : '';
        if (drops.has(op)) return;
        const isDelete = deletes.has(op);
        const row = firstObject(
          record,
          isDelete ? [config.before_field, config.key_field] : [config.after_field],
        );
        if (row !== undefined) {
          const before = isDelete ? undefined : firstObject(record, [config.before_field]);
          if (before !== undefined && hasOtherKey(before, row, config.key)) {
            refuseLacking(row);
            emit(marked(before, config.marker_field, 'd'));
          }
          return emit(marked(row, config.marker_field, isDelete ? 'd' : 'u'));
        }
        rowless += 1;
        if (rowless === 1)
          log.warn('a change event holds no row and is dropped; further ones are only counted', {
            op,
          });
      },
      close() {
        if (rowless > 1) log.warn('change events without a row were dropped', { count: rowless });
        return Promise.resolve();
      },
    };
  },
});

/**
 * Fields have a type where all images of a row that an event may hold agree. An image may lack
 * fields: often it is the key alone.
 */
function unwrappedSchema(config: UnwrapConfig, input: RecordSchema): RecordSchema {
  const names = [config.after_field, config.before_field, config.key_field];
  const images = names.flatMap((name) => imageOf(input, name));
  const known = images.includes('unknown')
    ? []
    : images.flatMap((image) => (image === 'unknown' ? [] : image));
  const fields = new Map<string, RecordField | undefined>();
  for (const field of known) {
    const other = fields.has(field.name) ? fields.get(field.name) : field;
    const isSame = other !== undefined && typeText(other.type) === typeText(field.type);
    fields.set(field.name, isSame ? { ...field, nullable: true } : undefined);
  }
  const agreed = [...fields.values()].filter((field) => field !== undefined);
  const marker = { name: config.marker_field, type: { kind: 'utf8' }, nullable: false } as const;
  return withField({ fields: agreed, others: true }, marker);
}

type Image = readonly RecordField[] | 'unknown';

/** None for a field that no event has. */
function imageOf(input: RecordSchema, name: string): Image[] {
  const field = fieldOf(input, name);
  if (field === undefined) return input.others === true ? ['unknown'] : [];
  if (field.type.kind === 'struct') return [field.type.fields];
  return [field.inside ?? 'unknown'];
}

function firstObject(record: JsonObject, names: readonly string[]): JsonObject | undefined {
  for (const name of names) {
    const value = hasField(record, name) ? record[name] : undefined;
    if (isObject(value)) return value;
  }
  return undefined;
}

/** An image that lacks a field of the key says nothing about it. */
function hasOtherKey(before: JsonObject, after: JsonObject, key: readonly string[] = []): boolean {
  return (
    key.every((name) => hasField(before, name)) &&
    key.some((name) => !jsonEqual(before[name], after[name]))
  );
}

/** The row of the old key goes, and with it what the log does not repeat. */
function refuseLacking(row: JsonObject): void {
  const lacking = hasField(row, UNCHANGED) ? row[UNCHANGED] : undefined;
  if (!Array.isArray(lacking)) return;
  const names = lacking.map((name) => `\`${jsonText(name)}\``).join(', ');
  throw new RecordError(
    'Transform',
    `the key of a row was changed, and its large values that were not are not in the event: ${names}`,
    {
      hint: 'ALTER TABLE … REPLICA IDENTITY FULL, and load the table anew (`headgate replicate --restart`)',
    },
  );
}

function marked(row: JsonObject, name: string, marker: string): JsonObject {
  const { [UNCHANGED]: _lacking, ...copy } = row;
  setField(copy, name, marker);
  return copy;
}
