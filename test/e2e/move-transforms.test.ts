/**
 * Every transform on real records: one run, one matrix row a case, outputs compared value by value.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { headgate } from './headgate.ts';

interface Case {
  readonly title: string;
  readonly transforms: readonly object[];
  readonly given: readonly unknown[];
  /** The records that come out, or a piece of the sentence the row fails with. */
  readonly gives: readonly unknown[] | { readonly failsWith: string };
}

const one = (type: string, config: object = {}): readonly object[] => [{ type, config }];

const CASES: readonly Case[] = [
  {
    title: 'flatten joins objects and leaves arrays',
    transforms: one('flatten'),
    given: [{ a: { b: 1, c: { d: [{ e: 1 }] }, x: {} } }],
    gives: [{ a__b: 1, a__c__d: [{ e: 1 }] }],
  },
  {
    title: 'flatten takes another separator',
    transforms: one('flatten', { separator: '.' }),
    given: [{ a: { b: null } }],
    gives: [{ 'a.b': null }],
  },
  {
    title: 'flatten refuses two fields of one name',
    transforms: one('flatten'),
    given: [{ a: { b: 1 }, a__b: 2 }],
    gives: { failsWith: 'a__b' },
  },
  {
    title: 'rename_keys replaces at every depth',
    transforms: one('rename_keys', { pattern: '^_(\\w+)$', replacement: '$1' }),
    given: [{ _a: [{ _b: 1 }], c: 2 }],
    gives: [{ a: [{ b: 1 }], c: 2 }],
  },
  {
    title: 'rename_keys lets the last of two equal names win',
    transforms: one('rename_keys', { pattern: '[xy]', replacement: 'z' }),
    given: [{ x: 1, y: 2 }],
    gives: [{ z: 2 }],
  },
  {
    title: 'rename_keys knows named groups',
    transforms: one('rename_keys', {
      pattern: '(?P<first>\\w)-(?P<second>\\w)',
      replacement: '$${second}_$${first}',
    }),
    given: [{ 'a-b': 1 }],
    gives: [{ b_a: 1 }],
  },
  {
    title: 'rename_keys takes groups in braces as they are, without an escape',
    transforms: one('rename_keys', {
      pattern: '(?P<first>\\w)-(\\w)',
      replacement: '${2}_${first}',
    }),
    given: [{ 'a-b': 1 }],
    gives: [{ b_a: 1 }],
  },
  {
    title: 'keys_case snake splits words',
    transforms: one('keys_case', { mode: 'snake' }),
    given: [{ firstName: 1, 'Last Name': 2, nested: [{ userID: 3 }], '---': 4 }],
    gives: [{ first_name: 1, last_name: 2, nested: [{ user_id: 3 }], '---': 4 }],
  },
  {
    title: 'keys_case camel',
    transforms: one('keys_case', { mode: 'camel' }),
    given: [{ first_name: 1, SOME_KEY: 2 }],
    gives: [{ firstName: 1, someKey: 2 }],
  },
  {
    title: 'keys_case refuses two keys of one name',
    transforms: one('keys_case', { mode: 'snake' }),
    given: [{ aB: 1, a_b: 2 }],
    gives: { failsWith: 'a_b' },
  },
  {
    title: 'spell_symbols writes words',
    transforms: one('spell_symbols'),
    given: [{ 'a%': 1 }],
    gives: [{ 'a percent ': 1 }],
  },
  {
    title: 'select keeps the listed fields in the listed order',
    transforms: one('select', { fields: ['c', 'a', 'nope'] }),
    given: [{ a: 1, b: 2, c: 3 }],
    gives: [{ c: 3, a: 1 }],
  },
  {
    title: 'drop removes fields',
    transforms: one('drop', { fields: ['a', 'nope'] }),
    given: [{ a: 1, b: 2 }],
    gives: [{ b: 2 }],
  },
  {
    title: 'set stamps values and moments',
    transforms: one('set', { values: { n: 1, t: '${now.date}', deep: { y: ['${now.year}'] } } }),
    given: [{ n: 0 }],
    gives: [{ n: 1, t: '2026-01-31', deep: { y: ['2026'] } }],
  },
  {
    title: 'rename_field swaps',
    transforms: one('rename_field', { fields: { a: 'b', b: 'a', same: 'same' } }),
    given: [{ a: 1, b: 2, same: 3 }],
    gives: [{ b: 1, a: 2, same: 3 }],
  },
  {
    title: 'rename_field refuses a name that is taken',
    transforms: one('rename_field', { fields: { a: 'b' } }),
    given: [{ a: 1, b: 2 }],
    gives: { failsWith: 'b' },
  },
  {
    title: 'cast int',
    transforms: one('cast', { fields: { a: 'int' } }),
    given: [{ a: ' 42 ' }, { a: 3.0 }, { a: true }, { b: 1 }],
    gives: [{ a: 42 }, { a: 3 }, { a: 1 }, { b: 1 }],
  },
  {
    title: 'cast int refuses fractions',
    transforms: one('cast', { fields: { a: 'int' } }),
    given: [{ a: '1.5' }],
    gives: { failsWith: 'int' },
  },
  {
    title: 'cast int refuses null',
    transforms: one('cast', { fields: { a: 'int' } }),
    given: [{ a: null }],
    gives: { failsWith: 'a' },
  },
  {
    title: 'cast may give null',
    transforms: one('cast', { fields: { a: 'int' }, on_error: 'null' }),
    given: [{ a: 'x' }, { a: {} }],
    gives: [{ a: null }, { a: null }],
  },
  {
    title: 'cast may skip',
    transforms: one('cast', { fields: { a: 'int' }, on_error: 'skip' }),
    given: [{ a: 'x' }, { a: [1] }],
    gives: [{ a: 'x' }, { a: [1] }],
  },
  {
    title: 'cast bool',
    transforms: one('cast', { fields: { a: 'bool' }, on_error: 'null' }),
    given: [{ a: 'Yes' }, { a: 'n' }, { a: 1 }, { a: 2 }, { a: ' TRUE ' }, { a: '0' }, { a: 'on' }],
    gives: [
      { a: true },
      { a: false },
      { a: true },
      { a: null },
      { a: true },
      { a: false },
      { a: null },
    ],
  },
  {
    title: 'cast float',
    transforms: one('cast', { fields: { a: 'float' }, on_error: 'null' }),
    given: [{ a: ' 1.25 ' }, { a: 'inf' }, { a: 'NaN' }, { a: '1e3' }, { a: '' }],
    gives: [{ a: 1.25 }, { a: null }, { a: null }, { a: 1000 }, { a: null }],
  },
  {
    title: 'cast string',
    transforms: one('cast', { fields: { a: 'string' }, on_error: 'skip' }),
    given: [{ a: 1.5 }, { a: true }, { a: null }, { a: [1] }],
    gives: [{ a: '1.5' }, { a: 'true' }, { a: null }, { a: [1] }],
  },
  {
    title: 'cast timestamp takes RFC 3339 only',
    transforms: one('cast', { fields: { a: 'timestamp' }, on_error: 'null' }),
    given: [
      { a: '2026-01-31T10:00:00+00:00' },
      { a: '2026-01-31T10:00:00.500+02:00' },
      { a: '2026-01-31' },
      { a: 5 },
      { a: '2026-02-30T00:00:00Z' },
    ],
    gives: [
      { a: '2026-01-31T10:00:00Z' },
      { a: '2026-01-31T10:00:00.5+02:00' },
      { a: null },
      { a: null },
      { a: null },
    ],
  },
  {
    title: 'redact replaces what is there',
    transforms: one('redact', { fields: ['a', 'b', 'c'] }),
    given: [{ a: 1, b: null }],
    gives: [{ a: '***', b: '***' }],
  },
  {
    title: 'redact takes any mask',
    transforms: one('redact', { fields: ['a'], mask: null }),
    given: [{ a: 1 }],
    gives: [{ a: null }],
  },
  {
    title: 'value_case title',
    transforms: one('value_case', { fields: ['a'], mode: 'title' }),
    given: [{ a: 'the bIG  house' }, { a: 5 }],
    gives: [{ a: 'The Big  House' }, { a: 5 }],
  },
  {
    title: 'value_case capitalize',
    transforms: one('value_case', { fields: ['a'], mode: 'capitalize' }),
    given: [{ a: 'éLAN vital' }],
    gives: [{ a: 'Élan vital' }],
  },
  {
    title: 'hash takes the text of numbers and leaves null',
    transforms: one('hash', { fields: ['a', 'b', 'c'] }),
    given: [{ a: 1, b: '1', c: null }],
    gives: [
      {
        a: '6b86b273ff34fce19d6b804eff5a3f5747ada4eaa22f1d49c01e52ddb7875b4b',
        b: '6b86b273ff34fce19d6b804eff5a3f5747ada4eaa22f1d49c01e52ddb7875b4b',
        c: null,
      },
    ],
  },
  {
    title: 'hash into another field, base64, salted',
    transforms: one('hash', { fields: ['a'], into: 'h', encoding: 'base64', salt: 's' }),
    given: [{ a: '1' }],
    gives: [{ a: '1', h: '6LwWPILu4YczKIx9SsY22zpt6wE+8tN7aDIr4g7cRcw=' }],
  },
  {
    title: 'hash knows blake3',
    transforms: one('hash', { fields: ['a'], algorithm: 'blake3' }),
    given: [{ a: '' }],
    gives: [{ a: 'af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262' }],
  },
  {
    title: 'json_parse keeps what is not JSON',
    transforms: one('json_parse', { fields: ['a'] }),
    given: [{ a: '{"x":[1]}' }, { a: 'nope' }, { a: 5 }],
    gives: [{ a: { x: [1] } }, { a: 'nope' }, { a: 5 }],
  },
  {
    title: 'json_parse may give null',
    transforms: one('json_parse', { fields: ['a'], on_error: 'null' }),
    given: [{ a: 'nope' }],
    gives: [{ a: null }],
  },
  {
    title: 'json_parse may fail',
    transforms: one('json_parse', { fields: ['a'], on_error: 'error' }),
    given: [{ a: 'nope' }],
    gives: { failsWith: 'JSON' },
  },
  {
    title: 'json_encode',
    transforms: one('json_encode', { fields: ['a', 'b'] }),
    given: [{ a: { x: [1, null] }, b: 'text' }],
    gives: [{ a: '{"x":[1,null]}', b: 'text' }],
  },
  {
    title: 'coalesce from other fields',
    transforms: one('coalesce', { field: 'a', from: ['b', 'c'] }),
    given: [{ a: null, b: null, c: 3 }, { b: 2 }, { a: '', b: 2 }, { x: 1 }],
    gives: [{ a: 3, b: null, c: 3 }, { b: 2, a: 2 }, { a: '', b: 2 }, { x: 1 }],
  },
  {
    title: 'coalesce takes empty text for null on request',
    transforms: one('coalesce', { field: 'a', default: 'd', treat_empty_string_as_null: true }),
    given: [{ a: '' }, { a: 0 }],
    gives: [{ a: 'd' }, { a: 0 }],
  },
  {
    title: 'split keeps empty pieces',
    transforms: one('split', { field: 'a', delimiter: ',', trim: true }),
    given: [{ a: 'x, ,y,' }, { a: 5 }],
    gives: [{ a: ['x', '', 'y', ''] }, { a: 5 }],
  },
  {
    title: 'split without a delimiter is one piece',
    transforms: one('split', { field: 'a', delimiter: '', into: 'b' }),
    given: [{ a: 'xy' }],
    gives: [{ a: 'xy', b: ['xy'] }],
  },
  {
    title: 'join writes null as nothing',
    transforms: one('join', { field: 'a', delimiter: '|' }),
    given: [{ a: ['x', null, 1, { y: 2 }] }, { a: 'no' }],
    gives: [{ a: 'x||1|{"y":2}' }, { a: 'no' }],
  },
  {
    title: 'filter eq is strict',
    transforms: one('filter', { path: '$.a.b', op: 'eq', value: 1 }),
    given: [{ a: { b: 1 } }, { a: { b: '1' } }, { a: 5 }, {}],
    gives: [{ a: { b: 1 } }],
  },
  {
    title: 'filter ne keeps what lacks the field',
    transforms: one('filter', { path: 'a', op: 'ne', value: 1 }),
    given: [{ a: 1 }, { a: 2 }, {}],
    gives: [{ a: 2 }, {}],
  },
  {
    title: 'filter eq null',
    transforms: one('filter', { path: 'a', op: 'eq', value: null }),
    given: [{ a: null }, { a: 0 }, {}],
    gives: [{ a: null }],
  },
  {
    title: 'filter exists wants more than null',
    transforms: one('filter', { path: 'a', op: 'exists' }),
    given: [{ a: null }, { a: 0 }, {}],
    gives: [{ a: 0 }],
  },
  {
    title: 'filter in and not_in',
    transforms: [
      ...one('filter', { path: 'a', op: 'in', value: [1, 2, 3] }),
      ...one('filter', { path: 'a', op: 'not_in', value: [2] }),
    ],
    given: [{ a: 1 }, { a: 2 }, { a: 4 }, {}],
    gives: [{ a: 1 }],
  },
  {
    title: 'filter reads a key with a dot',
    transforms: one('filter', { path: "$['a.b']", op: 'exists' }),
    given: [{ 'a.b': 1 }, { a: { b: 1 } }],
    gives: [{ 'a.b': 1 }],
  },
  {
    title: 'explode puts the fields of elements beside the rest',
    transforms: one('explode', { path: 'items' }),
    given: [{ id: 1, items: [{ x: 1 }, { x: 2 }] }],
    gives: [
      { id: 1, items_x: 1 },
      { id: 1, items_x: 2 },
    ],
  },
  {
    title: 'explode takes the raw keys with an empty prefix',
    transforms: one('explode', { path: 'items', prefix: '' }),
    given: [{ id: 1, items: [{ x: 1 }] }],
    gives: [{ id: 1, x: 1 }],
  },
  {
    title: 'explode puts plain elements in place',
    transforms: one('explode', { path: 'a.b' }),
    given: [{ a: { b: [1, null, [2]] } }],
    gives: [{ a: { b: 1 } }, { a: { b: null } }, { a: { b: [2] } }],
  },
  {
    title: 'explode passes through what has nothing',
    transforms: one('explode', { path: 'a' }),
    given: [{ a: [] }, { b: 1 }],
    gives: [{ a: [] }, { b: 1 }],
  },
  {
    title: 'explode may drop',
    transforms: one('explode', { path: 'a', on_missing: 'drop' }),
    given: [{ a: [] }, { a: 1 }],
    gives: [],
  },
  {
    title: 'explode may fail',
    transforms: one('explode', { path: 'a', on_missing: 'error' }),
    given: [{ a: [] }],
    gives: { failsWith: 'a' },
  },
  {
    title: 'explode refuses a name that is taken',
    transforms: one('explode', { path: 'a' }),
    given: [{ a: [{ x: 1 }], a_x: 2 }],
    gives: { failsWith: 'a_x' },
  },
  {
    title: 'unpivot columns',
    transforms: one('unpivot', { key_name: 'k', value_name: 'v', id_fields: ['id'] }),
    given: [{ id: 1, a: 2, b: null }],
    gives: [
      { id: 1, k: 'a', v: 2 },
      { id: 1, k: 'b', v: null },
    ],
  },
  {
    title: 'unpivot keeps a record that gives nothing',
    transforms: one('unpivot', {
      key_name: 'k',
      value_name: 'v',
      id_fields: ['id'],
      drop_nulls: true,
    }),
    given: [{ id: 1, b: null }],
    gives: [{ id: 1, b: null }],
  },
  {
    title: 'unpivot may drop it',
    transforms: one('unpivot', {
      key_name: 'k',
      value_name: 'v',
      id_fields: ['id'],
      drop_nulls: true,
      drop_if_empty: true,
    }),
    given: [{ id: 1, b: null }],
    gives: [],
  },
  {
    title: 'unpivot a map',
    transforms: one('unpivot', { key_name: 'k', value_name: 'v', id_fields: ['id'], from: 'm' }),
    given: [{ id: 1, m: { x: 1, y: 2 } }],
    gives: [
      { id: 1, k: 'x', v: 1 },
      { id: 1, k: 'y', v: 2 },
    ],
  },
  {
    title: 'lookup compares by text, first row wins',
    transforms: one('lookup', {
      values: [
        { code: '42', n: 'first' },
        { code: 42, n: 'second' },
      ],
      on: { record: 'c', ref: 'code' },
      add: { name: 'n', none: 'nope' },
    }),
    given: [{ c: 42 }, { c: 'x' }],
    gives: [
      { c: 42, name: 'first', none: null },
      { c: 'x', name: null, none: null },
    ],
  },
  {
    title: 'lookup may keep',
    transforms: one('lookup', {
      values: [{ code: 1, n: 2 }],
      on: { record: 'c', ref: 'code' },
      add: { name: 'n' },
      on_missing: 'keep',
    }),
    given: [{ c: 9 }],
    gives: [{ c: 9 }],
  },
  {
    title: 'lookup may fail',
    transforms: one('lookup', {
      values: [{ code: 1, n: 2 }],
      on: { record: 'c', ref: 'code' },
      add: { name: 'n' },
      on_missing: 'error',
    }),
    given: [{ c: 9 }],
    gives: { failsWith: '`c`' },
  },
  {
    title: 'lookup reads JSON lines',
    transforms: one('lookup', {
      jsonl: 'ref.jsonl',
      on: { record: 'c', ref: 'code' },
      add: { name: 'n' },
    }),
    given: [{ c: 'A' }],
    gives: [{ c: 'A', name: 'Ann' }],
  },
  {
    title: 'tree_flatten emits leaves with ancestors',
    transforms: one('tree_flatten', {
      children: 'rows',
      columns: { from: 'cells', header: 'columns', header_label: 'name' },
      ancestors: { field: 'label', as: ['group'] },
    }),
    given: [
      {
        columns: [{ name: 'v' }],
        label: 'root',
        rows: [
          { label: 'a', cells: [{ value: 1 }] },
          { label: 'b', rows: [{ label: 'c', cells: [{ value: 2 }] }] },
        ],
      },
    ],
    gives: [
      { group: 'root', v: 1 },
      { group: 'root', ancestor_2: 'b', v: 2 },
    ],
  },
  {
    title: 'cross_join multiplies',
    transforms: one('cross_join', { arrays: ['a', 'b'] }),
    given: [{ id: 1, a: [1, 2, 3], b: [{ x: 1 }, { x: 2 }, { x: 3 }, { x: 4 }] }],
    gives: [1, 2, 3].flatMap((a) => [1, 2, 3, 4].map((x) => ({ id: 1, a, x }))),
  },
  {
    title: 'cross_join skips an empty side',
    transforms: one('cross_join', { arrays: ['a', 'b'] }),
    given: [{ a: [], b: [1] }],
    gives: [],
  },
  {
    title: 'cross_join may count an empty side as null',
    transforms: one('cross_join', {
      arrays: ['a', 'b'],
      on_empty: 'one_row',
      keep_parent: false,
      prefix: true,
    }),
    given: [{ id: 1, b: [{ x: 1 }] }],
    gives: [{ a: null, b_x: 1 }],
  },
  {
    title: 'cross_join is capped',
    transforms: one('cross_join', { arrays: ['a', 'b'] }),
    given: [
      { a: Array.from({ length: 101 }, (_, i) => i), b: Array.from({ length: 100 }, (_, i) => i) },
    ],
    gives: { failsWith: '10000' },
  },
  {
    title: 'zip_columns',
    transforms: one('zip_columns', { rows_path: 'rows', columns_path: 'cols' }),
    given: [
      {
        cols: ['a', 'b'],
        rows: [
          [1, 2],
          [3, 4],
        ],
      },
    ],
    gives: [
      { a: 1, b: 2 },
      { a: 3, b: 4 },
    ],
  },
  {
    title: 'cdc_unwrap',
    transforms: one('cdc_unwrap'),
    given: [
      { op: 'c', after: { id: 1 } },
      { op: 'u', before: { id: 1 }, after: { id: 1, x: 2 } },
      { op: 'd', before: { id: 1 } },
      { op: 'delete', document_key: { id: 2 } },
      { op: 'ddl' },
      { op: 'd' },
    ],
    gives: [
      { id: 1, __op: 'u' },
      { id: 1, x: 2, __op: 'u' },
      { id: 1, __op: 'd' },
      { id: 2, __op: 'd' },
    ],
  },
  {
    title: 'field transforms let other values pass',
    transforms: [
      ...one('drop', { fields: ['a'] }),
      ...one('cast', { fields: { a: 'int' } }),
      ...one('hash', { fields: ['a'] }),
    ],
    given: [5, 'text', null, [1]],
    gives: [5, 'text', null, [1]],
  },
  {
    title: 'a key called __proto__ is a key',
    transforms: one('drop', { fields: ['x'] }),
    given: [JSON.parse('{"__proto__":{"a":1},"b":2,"x":1}')],
    gives: [JSON.parse('{"__proto__":{"a":1},"b":2}')],
  },
];

interface RowReport {
  readonly row_id: string;
  readonly status: string;
  readonly error?: string;
}

let cwd: string;
let reports: Map<string, RowReport>;
let stderr: string;

beforeAll(async () => {
  cwd = mkdtempSync(join(tmpdir(), 'headgate-transforms-'));
  writeFileSync(join(cwd, 'ref.jsonl'), '{"code":"A","n":"Ann"}\n');
  for (const [index, { given }] of CASES.entries()) {
    writeFileSync(
      join(cwd, `in-${index}.jsonl`),
      given.map((record) => `${JSON.stringify(record)}\n`).join(''),
    );
  }
  const matrix = CASES.map(({ transforms }, index) => ({
    id: `case-${index}`,
    source: { config: { path: `in-${index}.jsonl` } },
    sink: { config: { path: `out-${index}.jsonl` } },
    transforms,
  }));
  const pipeline = { source: { type: 'jsonl' }, sink: { type: 'jsonl' } };
  writeFileSync(
    join(cwd, 'all.json'),
    JSON.stringify({
      version: 1,
      name: 'transforms',
      pipeline,
      matrix,
      execution: { on_error: 'continue' },
    }),
  );
  const done = await headgate(
    ['run', 'all.json', '--output', 'ndjson', '--clock', '2026-01-31', '--log-level', 'error'],
    { cwd },
  );
  stderr = done.stderr;
  const lines = done.stdout.split('\n').filter((line) => line !== '');
  reports = new Map(
    lines.map((line) => JSON.parse(line) as RowReport).map((report) => [report.row_id, report]),
  );
});
afterAll(() => rmSync(cwd, { recursive: true, force: true }));

it.each(CASES.map((each, index) => [each.title, each, index] as const))(
  '%s',
  (_title, { gives }, index) => {
    const report = reports.get(`case-${index}`);
    if ('failsWith' in gives) {
      expect(report?.status).toBe('error');
      expect(report?.error).toContain(gives.failsWith);
      return;
    }
    expect(report?.error ?? (report === undefined ? stderr : undefined)).toBeUndefined();
    expect(gives.length === 0 ? [] : outputOf(index)).toEqual(gives);
  },
);

function outputOf(index: number): unknown[] {
  const lines = readFileSync(join(cwd, `out-${index}.jsonl`), 'utf8').split('\n');
  return lines.slice(0, -1).map((line) => JSON.parse(line) as unknown);
}
