/** What transforms say of the fields of their output is true of their output. */
import { describe, expect, it } from 'vitest';
import { check } from '../kit/schema.ts';
import { isObject, type JsonObject, type JsonValue } from '../lib/text/json.ts';
import {
  typeOfConstant,
  UNKNOWN_SCHEMA,
  type RecordField,
  type RecordSchema,
} from '../kit/record-schema.ts';
import { parseType, schemaText } from '../kit/type-text.ts';
import { fieldFault } from '../kit/typed-values.ts';
import { TRANSFORMS } from './index.ts';

function schemaAfter(type: string, config: JsonObject, input: RecordSchema): RecordSchema {
  const definition = TRANSFORMS.find((one) => one.type === type);
  const checked = check(definition?.config as never, config);
  if (!checked.ok) throw new Error(checked.issues[0]?.message);
  return definition?.schema?.(checked.value, input) ?? UNKNOWN_SCHEMA;
}

/** The schema that some records fit: closed where all have the same fields. */
function schemaOf(records: readonly JsonObject[]): RecordSchema {
  const names = [...new Set(records.flatMap((record) => Object.keys(record)))];
  const fields = names.flatMap((name): RecordField[] => {
    const values = records.flatMap((record) =>
      Object.hasOwn(record, name) ? [record[name] as JsonValue] : [],
    );
    const types = new Set(values.map((value) => typeOfConstant(value)?.kind));
    types.delete(undefined);
    const [kind] = types;
    if (types.size !== 1 || kind === undefined) return [];
    return [{ name, type: { kind } as RecordField['type'], nullable: values.includes(null) }];
  });
  const isClosed =
    fields.length === names.length &&
    records.every((record) => Object.keys(record).length === names.length);
  return isClosed ? { fields } : { fields, others: true };
}

describe('the examples of a transform', () => {
  for (const definition of TRANSFORMS.filter((one) => one.schema !== undefined)) {
    it.each(definition.examples.map((example, index) => [index, example] as const))(
      `${definition.type} %i`,
      (_index, { config, input, output }) => {
        const records = input.filter(isObject);
        for (const known of [schemaOf(records), UNKNOWN_SCHEMA]) {
          const after = schemaAfter(definition.type, config, known);
          const faults = output.filter(isObject).map((record) => fieldFault(record, after));
          expect([schemaText(after), faults.filter((fault) => fault !== undefined)]).toEqual([
            schemaText(after),
            [],
          ]);
        }
      },
    );
  }
});

const field = (name: string, type: string): RecordField => {
  const parsed = parseType(type);
  if (parsed === undefined) throw new Error(type);
  return { name, type: parsed, nullable: true };
};
const TABLE: RecordSchema = {
  fields: [
    { ...field('id', 'int32'), nullable: false },
    field('price', 'decimal(12, 2)'),
    { ...field('raw', 'binary'), native: { system: 'postgres', name: 'bytea' } },
    field('doc', 'json'),
    field('name', 'utf8'),
  ],
};

describe('the types after a transform', () => {
  it.each<[string, JsonObject, string]>([
    [
      'cast',
      { fields: { id: 'float', price: 'float' } },
      'id: float64 not null, price: float64, raw: binary, doc: json, name: utf8',
    ],
    [
      'cast',
      { fields: { id: 'string', gone: 'int' } },
      'id: utf8 not null, price: decimal(12, 2), raw: binary, doc: json, name: utf8',
    ],
    [
      'cast',
      { fields: { price: 'int' }, on_error: 'skip' },
      'id: int32 not null, raw: binary, doc: json, name: utf8, …',
    ],
    [
      'rename_field',
      { fields: { id: 'key' } },
      'key: int32 not null, price: decimal(12, 2), raw: binary, doc: json, name: utf8',
    ],
    ['drop', { fields: ['raw', 'doc'] }, 'id: int32 not null, price: decimal(12, 2), name: utf8'],
    ['select', { fields: ['raw', 'id'] }, 'raw: binary, id: int32 not null'],
    [
      'set',
      { values: { n: 1, x: 1.5, name: null } },
      'id: int32 not null, price: decimal(12, 2), raw: binary, doc: json, n: int64 not null, x: float64 not null, …',
    ],
    [
      'hash',
      { fields: ['raw'] },
      'id: int32 not null, price: decimal(12, 2), raw: utf8, doc: json, name: utf8',
    ],
    [
      'redact',
      { fields: ['id'] },
      'id: utf8 not null, price: decimal(12, 2), raw: binary, doc: json, name: utf8',
    ],
    [
      'json_parse',
      { fields: ['name'] },
      'id: int32 not null, price: decimal(12, 2), raw: binary, doc: json, name: json',
    ],
    [
      'split',
      { field: 'name', delimiter: ',' },
      'id: int32 not null, price: decimal(12, 2), raw: binary, doc: json, name: list(utf8)',
    ],
    [
      'value_case',
      { fields: ['raw', 'id'], mode: 'upper' },
      'id: int32 not null, price: decimal(12, 2), raw: utf8, doc: json, name: utf8',
    ],
    ['filter', { path: 'id', op: 'exists' }, schemaText(TABLE)],
    ['coalesce', { field: 'name', default: '' }, schemaText(TABLE)],
    [
      'coalesce',
      { field: 'id', default: '' },
      'price: decimal(12, 2), raw: binary, doc: json, name: utf8, …',
    ],
    ['flatten', {}, 'id: int32 not null, price: decimal(12, 2), raw: binary, name: utf8, …'],
    [
      'lookup',
      {
        values: [
          { k: 1, n: 5, s: 'x', m: 1 },
          { k: 2, n: null, m: 'y' },
        ],
        on: { record: 'id', ref: 'k' },
        add: { rank: 'n', name: 's', mixed: 'm' },
      },
      'id: int32 not null, price: decimal(12, 2), raw: binary, doc: json, name: utf8, rank: int64, …',
    ],
    [
      'lookup',
      {
        values: [{ k: 1, n: 5 }],
        on: { record: 'id', ref: 'k' },
        add: { name: 'n' },
        on_missing: 'keep',
      },
      'id: int32 not null, price: decimal(12, 2), raw: binary, doc: json, …',
    ],
    [
      'rename_keys',
      { pattern: '^i', replacement: 'u' },
      'ud: int32 not null, price: decimal(12, 2), raw: binary, doc: json, name: utf8',
    ],
    [
      'rename_keys',
      { pattern: '^(id|raw)$', replacement: 'x' },
      'price: decimal(12, 2), doc: json, name: utf8, …',
    ],
    [
      'keys_case',
      { mode: 'screaming_snake' },
      'ID: int32 not null, PRICE: decimal(12, 2), RAW: binary, DOC: json, NAME: utf8',
    ],
  ])('%s %j', (type, config, expected) => {
    expect(schemaText(schemaAfter(type, config, TABLE))).toBe(expected);
  });

  it.each<[string, JsonObject, string]>([
    [
      'flatten',
      {},
      'id: int64 not null, at_x: int32, at__y_z: utf8, tags: list(utf8), items: list(struct(n: int64, D_d: json)), …',
    ],
    [
      'keys_case',
      { mode: 'snake' },
      'id: int64 not null, at: struct(x: int32, y: struct(z: utf8)), tags: list(utf8), items: list(struct(n: int64, d_d: json))',
    ],
    [
      'explode',
      { path: 'items' },
      'id: int64 not null, at: struct(x: int32, _y: struct(z: utf8)), tags: list(utf8), items_n: int64, items_D_d: json, …',
    ],
    [
      'explode',
      { path: 'items', prefix: '' },
      'id: int64 not null, at: struct(x: int32, _y: struct(z: utf8)), tags: list(utf8), n: int64, D_d: json, …',
    ],
    [
      'explode',
      { path: 'tags', on_missing: 'drop' },
      'id: int64 not null, at: struct(x: int32, _y: struct(z: utf8)), tags: utf8, items: list(struct(n: int64, D_d: json))',
    ],
    [
      'explode',
      { path: 'tags' },
      'id: int64 not null, at: struct(x: int32, _y: struct(z: utf8)), items: list(struct(n: int64, D_d: json)), …',
    ],
    [
      'explode',
      { path: 'at.x' },
      'id: int64 not null, tags: list(utf8), items: list(struct(n: int64, D_d: json)), …',
    ],
  ])('%s %j of nested types', (type, config, expected) => {
    const nested: RecordSchema = {
      fields: [
        { ...field('id', 'int64'), nullable: false },
        field('at', 'struct(x: int32, _y: struct(z: utf8))'),
        field('tags', 'list(utf8)'),
        field('items', 'list(struct(n: int64, D_d: json))'),
      ],
    };
    const separator: JsonObject = type === 'flatten' ? { separator: '_' } : {};
    expect(schemaText(schemaAfter(type, { ...config, ...separator }, nested))).toBe(expected);
  });

  it.each<[JsonObject, string]>([
    [{ columns: ['jan', 'feb'] }, 'shop: utf8, k: utf8 not null, v: int64'],
    [{ columns: ['jan', 'note'] }, 'shop: utf8, k: utf8 not null, …'],
    [{ columns: ['jan'], drop_nulls: true }, 'shop: utf8, …'],
    [
      { columns: ['jan'], drop_nulls: true, drop_if_empty: true },
      'shop: utf8, k: utf8 not null, v: int64',
    ],
    [{}, 'shop: utf8, …'],
  ])('unpivot %j', (config, expected) => {
    const months = {
      fields: [
        field('shop', 'utf8'),
        field('jan', 'int64'),
        field('feb', 'int64'),
        field('note', 'utf8'),
      ],
    };
    const whole = { key_name: 'k', value_name: 'v', id_fields: ['shop'], ...config };
    expect(schemaText(schemaAfter('unpivot', whole, months))).toBe(expected);
    expect(schemaAfter('unpivot', whole, { ...months, others: true }).others).toBe(true);
  });

  it.each<[string, JsonObject, string]>([
    ['zip_columns', { rows_path: 'r', columns_path: 'c' }, '…'],
    [
      'zip_columns',
      { rows_path: 'r', columns_path: 'c', types: { day: 'date', net: 'decimal(9, 2)' } },
      'day: date, net: decimal(9, 2), …',
    ],
    [
      'tree_flatten',
      { children: 'k', columns: { from: 'c' }, ancestors: { field: 'n' }, path_as: 'path' },
      'path: utf8 not null, …',
    ],
    [
      'tree_flatten',
      { children: 'k', columns: { from: 'c' }, root: 'r', types: { net: 'float64' } },
      'net: float64, …',
    ],
  ])('%s %j is what is said of its columns', (type, config, expected) => {
    expect(schemaText(schemaAfter(type, config, TABLE))).toBe(expected);
  });

  it.each<[string, RecordField[], boolean, string]>([
    [
      'both images',
      [
        field('after', 'struct(id: int32, at: date)'),
        field('before', 'struct(id: int32, at: date)'),
      ],
      false,
      'id: int32, at: date, __op: utf8 not null, …',
    ],
    [
      'images that do not agree',
      [field('after', 'struct(id: int32, at: date)'), field('before', 'struct(id: utf8)')],
      false,
      'at: date, __op: utf8 not null, …',
    ],
    [
      'documents of which the members are known',
      [
        { ...field('after', 'json'), inside: [field('id', 'int32')] },
        { ...field('before', 'json'), inside: [field('id', 'int32')] },
      ],
      false,
      'id: int32, __op: utf8 not null, …',
    ],
    ['documents', [field('after', 'json')], false, '__op: utf8 not null, …'],
    [
      'an image that nobody knows',
      [field('after', 'struct(id: int32)')],
      true,
      '__op: utf8 not null, …',
    ],
  ])('cdc_unwrap: %s', (_name, fields, others, expected) => {
    const input = others ? { fields, others } : { fields };
    expect(schemaText(schemaAfter('cdc_unwrap', {}, input))).toBe(expected);
  });

  it('of records of which nothing is known is the one that a cast gives', () => {
    expect(schemaText(schemaAfter('cast', { fields: { a: 'float' } }, UNKNOWN_SCHEMA))).toBe(
      'a: float64, …',
    );
  });

  it('a field that changed has no native type any more', () => {
    for (const [type, config] of [
      ['hash', { fields: ['raw'] }],
      ['value_case', { fields: ['raw'], mode: 'lower' }],
      ['cast', { fields: { raw: 'string' } }],
    ] as const)
      expect(schemaAfter(type, config as JsonObject, TABLE).fields[2]?.native).toBeUndefined();
  });
});
