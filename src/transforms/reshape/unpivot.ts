import { z } from 'zod';
import {
  hasField,
  isObject,
  setField,
  type JsonObject,
  type JsonValue,
} from '../../lib/text/json.ts';
import { keepForm } from '../../lib/value-form.ts';
import { fieldOf, type RecordSchema } from '../../kit/record-schema.ts';
import { typeText } from '../../kit/type-text.ts';
import { boolean, finding, optional, text } from '../../kit/schema.ts';
import { defineTransform } from '../../kit/transform.ts';

const schema = z.lazy(() =>
  z
    .strictObject({
      key_name: text().meta({
        description: 'Field of the output that holds the name of the column.',
      }),
      value_name: text().meta({ description: 'Field of the output that holds its value.' }),
      id_fields: z
        .array(text())
        .default([])
        .meta({ description: 'Fields that every output record repeats.' }),
      columns: z
        .array(text())
        .default([])
        .meta({ description: 'Columns to turn into records; all but the id fields when empty.' }),
      from: optional(text()).meta({
        description:
          'Field with an object whose entries are turned into records, in place of columns.',
      }),
      drop_nulls: boolean()
        .default(false)
        .meta({ description: 'Whether null values give no record.' }),
      drop_if_empty: boolean().default(false).meta({
        description:
          'Whether an input that gives no record is removed; otherwise it passes unchanged.',
      }),
    })
    .superRefine((config, ctx) => {
      if (config.from !== undefined && config.columns.length > 0) {
        const hint = 'remove one of them; `from` takes all entries of its object';
        ctx.addIssue(
          finding('invalid_value', '`columns` and `from` exclude each other', {
            path: ['columns'],
            hint,
          }),
        );
      }
      const names = [...config.id_fields, config.key_name];
      if (config.key_name === config.value_name || config.id_fields.includes(config.value_name)) {
        ctx.addIssue(
          finding('invalid_value', `\`${config.value_name}\` is already a field of the output`, {
            path: ['value_name'],
          }),
        );
      } else if (new Set(names).size < names.length) {
        ctx.addIssue(
          finding('invalid_value', 'a field of the output is named twice', { path: ['id_fields'] }),
        );
      }
    }),
);

type UnpivotConfig = z.infer<typeof schema>;

export const unpivot = defineTransform<UnpivotConfig>({
  type: 'unpivot',
  description: 'Turns columns, or the entries of an object, into records of a name and a value.',
  config: schema,
  examples: [
    {
      config: { key_name: 'month', value_name: 'sales', id_fields: ['shop'], drop_nulls: true },
      input: [
        { shop: 1, jan: 5, feb: null, mar: 7 },
        { shop: 2, jan: null },
      ],
      output: [
        { shop: 1, month: 'jan', sales: 5 },
        { shop: 1, month: 'mar', sales: 7 },
        { shop: 2, jan: null },
      ],
    },
    {
      config: {
        key_name: 'k',
        value_name: 'v',
        id_fields: ['id'],
        from: 'attrs',
        drop_if_empty: true,
      },
      input: [
        { id: 1, attrs: { a: 1, b: null }, x: 0 },
        { id: 2, attrs: {} },
      ],
      output: [
        { id: 1, k: 'a', v: 1 },
        { id: 1, k: 'b', v: null },
      ],
    },
  ],
  reads: (config) =>
    config.from === undefined && config.columns.length === 0
      ? { kind: 'record' }
      : { kind: 'fields', names: namesRead(config) },
  columns: () => ({ kind: 'opaque' }),
  schema: unpivotedSchema,
  compile(config) {
    const valuesOf = valuesReader(config);
    return {
      kind: 'record',
      apply(record, emit) {
        if (!isObject(record)) return emit(record);
        const ids = pick(record, config.id_fields);
        let given = 0;
        const values = valuesOf(record);
        for (const key of Object.keys(values)) {
          const value = values[key] as JsonValue;
          if (config.drop_nulls && value === null) continue;
          const row = { ...ids };
          setField(row, config.key_name, key);
          setField(row, config.value_name, value);
          keepForm(values, key, row, config.value_name);
          emit(row);
          given += 1;
        }
        if (given === 0 && !config.drop_if_empty) emit(record);
      },
    };
  },
});

/** The value has a type where all columns that it may come from have the same one. */
function unpivotedSchema(config: UnpivotConfig, input: RecordSchema): RecordSchema {
  const { id_fields: ids, columns, from, key_name: key, value_name: value } = config;
  const isClosed = input.others !== true;
  const kept = ids.flatMap((name) => fieldOf(input, name) ?? []);
  const named = from === undefined ? columns : [];
  const known = named.flatMap((name) => fieldOf(input, name) ?? []);
  const isMade = isClosed && !config.drop_nulls && known.length > 0;
  // A record that gives nothing passes as it is.
  if (!config.drop_if_empty && !isMade) return { fields: kept, others: true };
  const fields = [...kept, { name: key, type: { kind: 'utf8' } as const, nullable: false }];
  const [first] = known;
  const isSame =
    first !== undefined &&
    (isClosed || known.length === named.length) &&
    known.every(({ type }) => typeText(type) === typeText(first.type));
  if (!isSame) return { fields, others: true };
  const typed = [...fields, { name: value, type: first.type, nullable: true }];
  return isClosed ? { fields: typed } : { fields: typed, others: true };
}

function namesRead({ id_fields: ids, columns, from }: UnpivotConfig): string[] {
  return [...ids, ...(from === undefined ? columns : [from])];
}

function valuesReader({
  id_fields: idFields,
  columns,
  from,
}: UnpivotConfig): (record: JsonObject) => JsonObject {
  if (from !== undefined) {
    return (record) => {
      const map = hasField(record, from) ? record[from] : undefined;
      return isObject(map) ? map : {};
    };
  }
  if (columns.length > 0) return (record) => pick(record, columns);
  const ids = new Set(idFields);
  return (record) =>
    pick(
      record,
      Object.keys(record).filter((name) => !ids.has(name)),
    );
}

function pick(record: JsonObject, names: readonly string[]): JsonObject {
  const picked: JsonObject = {};
  for (const name of names) {
    if (!hasField(record, name)) continue;
    setField(picked, name, record[name] as JsonValue);
    keepForm(record, name, picked, name);
  }
  return picked;
}
