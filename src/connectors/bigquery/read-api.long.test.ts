/** The Storage Read API beside the REST API: the same values of all types, each row once. */
import { status } from '@grpc/grpc-js';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import {
  issuesOf,
  named,
  parsed,
  quickContext,
  read,
} from '../../../test/fakes/bigquery/harness.ts';
import { FakeBigquery } from '../../../test/fakes/bigquery/server.ts';
import { readAll } from '../../../test/fakes/read-all.ts';
import { RECORDS_LANE } from '../../kit/page.ts';
import type { RecordSchema } from '../../kit/record-schema.ts';
import type { ConnectorError } from '../../lib/errors.ts';
import type { JsonObject } from '../../lib/text/json.ts';
import { stringifyJson } from '../../lib/text/json.ts';
import { bigquerySource } from './index.ts';

let fake: FakeBigquery;
beforeAll(async () => {
  fake = await FakeBigquery.start();
  await fake.engine.addDataset('shop');
});
afterAll(() => fake.close());
afterEach(() => {
  const { reading } = fake;
  reading.fault = () => undefined;
  reading.sessionFault = () => undefined;
  reading.spoil = (answer) => answer;
  reading.partRows = 5;
  for (const list of [reading.sessions, reading.reads, reading.headers, fake.asked])
    list.length = 0;
});

async function table(
  name: string,
  columns: string,
  rows: readonly Readonly<Record<string, unknown>>[],
): Promise<void> {
  await fake.engine.create(named(name), columns);
  const made = fake.engine.table('shop', name);
  if (made !== undefined) await fake.engine.add(made, rows);
}

const numbers = async (name: string, count: number): Promise<void> =>
  table(
    name,
    'n INT64 NOT NULL',
    Array.from({ length: count }, (_, n) => ({ n })),
  );

const ofTable = (name: string, more: JsonObject = {}): JsonObject =>
  fake.readingConfig({ read_table: `shop.${name}`, ...more });

const failure = (config: JsonObject, context = quickContext()): Promise<ConnectorError> =>
  read(config, context).then(
    () => Promise.reject(new Error('it succeeded')),
    (error: unknown) => error as ConnectorError,
  );

async function result(
  config: JsonObject,
): Promise<{ readonly records: readonly string[]; readonly schema: RecordSchema | undefined }> {
  const source = await bigquerySource.open(parsed(bigquerySource, config), quickContext());
  const pages = await readAll(source);
  await source.close();
  return {
    // As text: the source text of documents and the digits of numbers are compared as well.
    records: pages.flatMap((page) => page.records().map((record) => stringifyJson(record))),
    schema: pages[0]?.schema,
  };
}

const TYPES: Readonly<Record<string, readonly unknown[]>> = {
  INT64: ['0', '-9223372036854775808', '9223372036854775807', '9007199254740993'],
  FLOAT64: ['0', '-0.0', '1.5', 'NaN', 'Infinity', '-Infinity', '1e300', '5e-324', '0.1'],
  NUMERIC: [
    '0',
    '-0.000000001',
    '99999999999999999999999999999.999999999',
    '-99999999999999999999999999999.999999999',
    '12.5',
    '100',
  ],
  'NUMERIC(10, 2)': ['12.5', '-0.01', '99999999.99'],
  BIGNUMERIC: [
    '0',
    '578960446186580977117854925043439539266.34992332820282019728792003956564819967',
    '-578960446186580977117854925043439539266.34992332820282019728792003956564819968',
    '-0.00000000000000000000000000000000000001',
    '1000',
  ],
  BOOL: ['true', 'false'],
  STRING: ['', 'a', 'é\n"\u0001', '😀'.repeat(50)],
  BYTES: ['', 'AAECA/8=', 'aGk='],
  DATE: ['0001-01-01', '1969-12-31', '2024-02-29', '9999-12-31'],
  TIME: ['00:00:00', '23:59:59.999999', '07:08:09.5', '00:00:00.000001'],
  DATETIME: [
    '0001-01-01 00:00:00',
    '1969-12-31 23:59:59.999999',
    '2024-05-06 07:08:09.5',
    '9999-12-31 23:59:59.999999',
  ],
  TIMESTAMP: [
    '0001-01-01 00:00:00+00',
    '1969-12-31 23:59:59.999999+00',
    '1970-01-01 00:00:00+00',
    '2024-05-06 07:08:09.123456+00',
    '9999-12-31 23:59:59.999999+00',
  ],
  GEOGRAPHY: ['POINT(1 2)', 'GEOMETRYCOLLECTION EMPTY'],
  JSON: [
    '{"a":[1,"x",null]}',
    'null',
    '1.10',
    '"text"',
    '{"big":12345678901234567890.5}',
    '[]',
    'true',
  ],
  INTERVAL: [
    '0-0 0 0:0:0',
    '1-2 3 4:5:6.5',
    '-1-2 -3 -4:5:6.789',
    '0-0 0 -0:0:0.000001',
    '10000-0 3660000 2562047:0:0',
    '0-11 1 -1:0:0',
  ],
  'RANGE<DATE>': [
    { start: '2024-01-01', end: null },
    { start: null, end: null },
    { start: '0001-01-01', end: '9999-12-31' },
  ],
  'RANGE<DATETIME>': [
    { start: '2024-01-01T00:00:00', end: '2024-01-01T00:00:00.500000' },
    { start: null, end: '1969-12-31T23:59:59.999999' },
  ],
  'RANGE<TIMESTAMP>': [
    { start: '1714979289123456', end: null },
    { start: '-1', end: '0' },
  ],
  'STRUCT<x INT64, y STRUCT<z STRING, w NUMERIC>>': [
    { x: '1', y: { z: 'a', w: '1.50' } },
    { x: null, y: null },
    { x: '2', y: { z: null, w: null } },
  ],
};

const isStruct = (type: string): boolean => type.startsWith('STRUCT');

it.each(Object.entries(TYPES))('gives %s as the REST API does', async (type, values) => {
  const name = `t_${type.replaceAll(/\W+/g, '_').toLowerCase()}`;
  const inner = isStruct(type) ? '' : `, s STRUCT<v ${type}, many ARRAY<${type}>>`;
  const columns = `id INT64 NOT NULL, v ${type}, many ARRAY<${type}>${inner}`;
  const row = (v: unknown, many: readonly unknown[], id: number) => ({
    id,
    v,
    many,
    ...(isStruct(type) ? {} : { s: { v, many } }),
  });
  await table(name, columns, [
    ...values.map((value, at) => row(value, values.slice(0, at), at)),
    row(null, [], 100),
    ...(isStruct(type) ? [] : [{ id: 101, v: null, many: values, s: null }]),
  ]);
  fake.reading.partRows = 3;
  const sql = `SELECT * FROM ${named(name)} ORDER BY id`;
  const paged = await result({ ...fake.config(), query: sql });
  const byQuery = await result(fake.readingConfig({ query: sql }));
  const byTable = await result(ofTable(name));
  expect(paged.records).toHaveLength(values.length + (isStruct(type) ? 1 : 2));
  expect(byQuery).toEqual(paged);
  expect(byTable.records).toEqual(paged.records);
  // The schema of a result knows neither what is required nor the digits of a decimal.
  const described = await bigquerySource.describe?.(
    parsed(bigquerySource, ofTable(name)),
    quickContext(),
  );
  expect(described?.columns.map(({ field }) => field)).toEqual(byTable.schema?.fields);
  if (!type.startsWith('NUMERIC('))
    expect(byTable.schema?.fields.slice(1)).toEqual(paged.schema?.fields.slice(1));
  expect(byTable.schema?.fields[0]).toMatchObject({ name: 'id', nullable: false });
});

it('tells what the values are', async () => {
  await table('known', 'n NUMERIC, t TIME, i INTERVAL, r RANGE<TIMESTAMP>, j JSON', [
    {
      n: '-12.500',
      t: '07:08:09.5',
      i: '-1-2 -3 -4:5:6.789',
      r: { start: '-1', end: null },
      j: '{"a":1}',
    },
  ]);
  expect(await read(ofTable('known'))).toEqual([
    {
      n: '-12.5',
      t: '07:08:09.5',
      i: 'P-1Y-2M-3DT-4H-5M-6.789S',
      r: '[1969-12-31T23:59:59.999999Z, UNBOUNDED)',
      j: { a: 1 },
    },
  ]);
});

it('asks for a session of the table, and for the rows of its stream', async () => {
  await numbers('plain', 12);
  expect((await read(ofTable('plain'))).map(({ n }) => n)).toEqual(
    Array.from({ length: 12 }, (_, n) => n),
  );
  expect(fake.reading.sessions).toMatchObject([
    {
      parent: 'projects/the-project',
      max_stream_count: 1,
      read_session: {
        table: 'projects/the-project/datasets/shop/tables/plain',
        read_options: { selected_fields: [], row_restriction: '' },
      },
    },
  ]);
  expect(fake.reading.reads.map(({ offset }) => offset)).toEqual([0n]);
  expect(fake.reading.headers).toEqual([
    'read_session.table=projects%2Fthe-project%2Fdatasets%2Fshop%2Ftables%2Fplain',
  ]);
  expect(fake.asked.map(({ path }) => path)).toEqual(['datasets/shop/tables/plain']);
});

it('reads several streams at the same time, each row once', async () => {
  await numbers('wide', 53);
  let open = 0;
  const together = Promise.withResolvers<void>();
  // No stream gives a row before all of them are asked for.
  fake.reading.fault = async ({ sent }) => {
    if (sent === 0 && (open += 1) === 4) together.resolve();
    await together.promise;
    return undefined;
  };
  const rows = await read(ofTable('wide', { max_streams: 4 }));
  expect(new Set(fake.reading.reads.map(({ read_stream: stream }) => stream)).size).toBe(4);
  expect(rows.map(({ n }) => Number(n)).toSorted((a, b) => a - b)).toEqual(
    Array.from({ length: 53 }, (_, n) => n),
  );
});

it.each([
  ['UNAVAILABLE', status.UNAVAILABLE],
  ['INTERNAL', status.INTERNAL],
  ['ABORTED', status.ABORTED],
  ['DEADLINE_EXCEEDED', status.DEADLINE_EXCEEDED],
  ['RESOURCE_EXHAUSTED', status.RESOURCE_EXHAUSTED],
])('goes on at the row after the last one when a stream breaks with %s', async (name, code) => {
  const own = `broken_${name.toLowerCase()}`;
  await numbers(own, 33);
  const broke = new Set<string>();
  // Each stream breaks before its first part, after some, and instead of its end.
  fake.reading.fault = ({ stream, offset, sent }) => {
    const place = `${stream} ${offset + sent * 5}`;
    if (broke.has(place) || ![0, 10, 15].includes(offset + sent * 5)) return undefined;
    broke.add(place);
    return { code, details: 'Stream removed' };
  };
  const rows = await read(ofTable(own, { max_streams: 2 }));
  expect(rows.map(({ n }) => Number(n)).toSorted((a, b) => a - b)).toEqual(
    Array.from({ length: 33 }, (_, n) => n),
  );
  expect(broke.size).toBeGreaterThan(3);
  expect(fake.reading.reads.some(({ offset }) => offset === 10n)).toBe(true);
  expect(fake.reading.sessions).toHaveLength(1);
});

it('gives up a stream that breaks again and again without a row', async () => {
  await numbers('dead', 10);
  fake.reading.fault = ({ offset, sent }) =>
    offset + sent * 5 === 5 ? { code: status.UNAVAILABLE, details: 'gone' } : undefined;
  const error = await failure(ofTable('dead'));
  expect([error.kind, error.message]).toEqual(['connection', 'the rows cannot be read: gone']);
  expect(fake.reading.reads).toHaveLength(5);
});

it('repeats what it may of a session, and says what helps of the rest', async () => {
  await numbers('asked', 3);
  let left = 2;
  fake.reading.sessionFault = () =>
    left-- > 0 ? { code: status.UNAVAILABLE, details: 'later' } : undefined;
  expect(await read(ofTable('asked'))).toHaveLength(3);
  expect(fake.reading.sessions).toHaveLength(3);
  fake.reading.sessionFault = () => ({ code: status.PERMISSION_DENIED, details: 'no' });
  const error = await failure(ofTable('asked'));
  expect([error.kind, error.hint]).toEqual([
    'auth',
    expect.stringContaining('BigQuery Read Session User'),
  ]);
});

it('does not take rows that are fewer than were told', async () => {
  await numbers('short', 20);
  fake.reading.spoil = (answer, { sent }) =>
    sent === 2 ? { ...answer, row_count: answer.row_count + 1n } : answer;
  const error = await failure(ofTable('short'));
  expect([error.kind, error.message]).toEqual(['data', '5 rows came where 6 were told']);
  fake.reading.spoil = (answer) => ({
    ...answer,
    arrow_record_batch: { serialized_record_batch: Buffer.from('nothing of Arrow') },
  });
  expect((await failure(ofTable('short'))).kind).toBe('data');
});

it('does not take columns that changed since they were looked at', async () => {
  await numbers('changed', 3);
  const made = fake.engine.table('shop', 'changed');
  const change = (to: object): undefined => {
    if (made !== undefined) made.fields = made.fields.map((field) => ({ ...field, ...to }));
  };
  fake.reading.sessionFault = () => change({ type: 'STRING' });
  expect((await failure(ofTable('changed'))).message).toBe(
    'the column `n` (INT64) comes as Utf8, which is not read',
  );
  fake.reading.sessionFault = () => change({ name: 'm' });
  expect((await failure(ofTable('changed'))).message).toBe(
    'the session gives `m`, which the table has not',
  );
});

it('goes on after more breaks than a request is repeated, where rows came in between', async () => {
  await numbers('shaky', 60);
  const broke = new Set<number>();
  fake.reading.fault = ({ offset, sent }) => {
    const at = offset + sent * 5;
    if (at === 0 || broke.has(at)) return undefined;
    broke.add(at);
    return { code: status.UNAVAILABLE, details: 'Stream removed' };
  };
  expect((await read(ofTable('shaky'))).map(({ n }) => n)).toEqual(
    Array.from({ length: 60 }, (_, n) => n),
  );
  expect(broke.size).toBe(12);
});

it('reads selected columns, and fields of structs, in the order of the table', async () => {
  await table(
    'places',
    'id INT64, place STRUCT<city STRING, at STRUCT<x INT64, y INT64>>, places ARRAY<STRUCT<city STRING, x INT64>>, other STRING',
    [
      {
        id: 1,
        place: { city: 'Bonn', at: { x: '1', y: '2' } },
        places: [
          { city: 'a', x: '1' },
          { city: 'b', x: null },
        ],
        other: 'o',
      },
    ],
  );
  const selected_fields = ['places.x', 'PLACE.at.y', 'id'];
  const { records, schema } = await result(ofTable('places', { selected_fields }));
  expect(records).toEqual(['{"id":1,"place":{"at":{"y":2}},"places":[{"x":1},{"x":null}]}']);
  expect(schema?.fields.map(({ native }) => native?.name)).toEqual([
    'INT64',
    'STRUCT<`at` STRUCT<`y` INT64>>',
    'ARRAY<STRUCT<`x` INT64>>',
  ]);
  const error = await failure(ofTable('places', { selected_fields: ['nobody'] }));
  expect([error.kind, error.hint]).toEqual([
    'refused',
    'check `selected_fields` and `row_restriction`',
  ]);
});

it('restricts the rows, with values that never are more than values', async () => {
  await table(
    'restricted',
    'id INT64, name STRING',
    ["it's", String.raw`\' OR 1=1`, 'a\nb', '9007199254740993'].map((name, id) => ({ id, name })),
  );
  const restricted = async (row_restriction: string, parent: JsonObject): Promise<unknown> =>
    (await read(ofTable('restricted', { row_restriction }), quickContext({ parent }))).map(
      ({ id }) => id,
    );
  expect(await restricted('id >= {from} AND id < 3', { from: 1 })).toEqual([1, 2]);
  expect(await restricted('name = {name}', { name: "it's" })).toEqual([0]);
  expect(await restricted("name = '{name}'", { name: String.raw`\' OR 1=1` })).toEqual([1]);
  expect(await restricted('name = {name}', { name: 'a\nb' })).toEqual([2]);
  expect(await restricted('name = {name}', { name: "x' OR '1'='1" })).toEqual([]);
  expect(fake.reading.sessions.at(-1)?.read_session.read_options.row_restriction).toBe(
    String.raw`name = 'x\x27 OR \x271\x27=\x271'`,
  );
});

it('reads the result of a query from the table that BigQuery keeps it in', async () => {
  const sql = 'SELECT n, ? AS tag FROM UNNEST(GENERATE_ARRAY(1, 12)) AS n ORDER BY n';
  const config = fake.readingConfig({ query: sql, params: ['x'] });
  expect(await read(config)).toEqual(
    Array.from({ length: 12 }, (_, at) => ({ n: at + 1, tag: 'x' })),
  );
  expect(fake.reading.sessions[0]?.read_session.table).toMatch(/datasets\/_results\/tables\/job_/);
  const shape = await bigquerySource.describe?.(parsed(bigquerySource, config), quickContext());
  expect(shape?.columns.map(({ name, type }) => [name, type])).toEqual([
    ['n', 'INT64'],
    ['tag', 'STRING'],
  ]);
  const nothing = fake.readingConfig({ query: 'SELECT n FROM UNNEST([1]) AS n WHERE n > 1' });
  expect(await read(nothing)).toEqual([]);
});

it('takes no more than is wanted, and leaves no call behind when it is stopped', async () => {
  await numbers('long', 500);
  const source = await bigquerySource.open(
    parsed(bigquerySource, ofTable('long', { max_streams: 3, batch_size: 4 })),
    quickContext(),
  );
  const sizes: number[] = [];
  for await (const page of source.pages({ lane: RECORDS_LANE, limit: 10 }))
    sizes.push(page.records().length);
  expect(sizes).toEqual([4, 4, 2]);
  await source.close();
});

it('refuses a view, and names what reads it', async () => {
  await numbers('seen', 1);
  const made = fake.engine.table('shop', 'seen');
  if (made !== undefined) made.kind = 'VIEW';
  const error = await failure(ofTable('seen'));
  expect([error.kind, error.hint]).toEqual(['refused', expect.stringContaining('`query`')]);
  expect(fake.reading.sessions).toEqual([]);
});

it('tells settings that need each other', () => {
  const base = { project_id: 'p', auth: { type: 'application_default' } };
  const issues = (more: JsonObject): string[] => issuesOf(bigquerySource, { ...base, ...more });
  expect(issues({})).toEqual(['query: there is neither a query nor a table to read']);
  expect(issues({ query: 'SELECT 1', read_api: true })).toEqual([]);
  expect(issues({ read_api: true, read_table: 'my-project.shop.t' })).toEqual([]);
  expect(issues({ read_api: true, read_table: 'example.com:p.shop.t', max_streams: 2 })).toEqual(
    [],
  );
  expect(issues({ query: 'SELECT 1', read_table: 'a.b', max_streams: 2 })).toEqual([
    'read_table: `read_table` needs `read_api`',
    'max_streams: `max_streams` needs `read_api`',
  ]);
  expect(
    issues({ query: 'SELECT 1', read_api: true, row_restriction: 'a = 1', selected_fields: ['a'] }),
  ).toEqual([
    'row_restriction: `row_restriction` needs `read_table`',
    'selected_fields: `selected_fields` needs `read_table`',
  ]);
  const restricted = { read_api: true, read_table: 'a.b' };
  expect(issues({ ...restricted, row_restriction: 'a = ?' })[0]).toContain('knows no parameters');
  expect(issues({ ...restricted, row_restriction: "a = 'x ${day.at}'" })[0]).toContain(
    'longer text',
  );
  expect(issues({ ...restricted, read_table: 'nothing' })[0]).toContain('is no name of a table');
  expect(issues({ ...restricted, api_endpoint: 'https://eu.example.com' })).toEqual([
    'read_api_endpoint: `api_endpoint` is the way to the REST API only',
  ]);
});

it('names the table, and lists others as tables', async () => {
  await numbers('listed', 2);
  const config = parsed(bigquerySource, ofTable('listed'));
  expect(bigquerySource.datasetUri(config)).toBe('bigquery://the-project.shop.listed');
  const found = (await bigquerySource.discover?.(config, quickContext())) ?? [];
  expect(found.find(({ name }) => name === 'shop.listed')?.config_patch).toEqual({
    read_table: 'the-project.shop.listed',
    query: null,
    selected_fields: null,
    row_restriction: null,
  });
  expect(await bigquerySource.probe?.(config, quickContext())).toEqual([
    { name: 'query', status: 'pass' },
  ]);
});

it('says that a query beside a table is not run', async () => {
  await numbers('both', 1);
  const context = quickContext();
  expect(await read(ofTable('both', { query: 'SELECT 7 AS n' }), context)).toEqual([{ n: 0 }]);
  expect(stringifyJson(context.lines as never)).toContain('the query is not run');
});
