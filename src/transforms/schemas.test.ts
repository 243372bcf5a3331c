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
    ['flatten', {}, '…'],
  ])('%s %j', (type, config, expected) => {
    expect(schemaText(schemaAfter(type, config, TABLE))).toBe(expected);
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
