/** Values that a column does not hold exactly are told, the same ones in every lane. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { run } from '../../../test/fakes/engine.ts';
import { planOfTree } from '../../../test/fakes/verify.ts';
import { freshDatabase } from '../../../test/servers/postgres.ts';
import type { JsonObject } from '../../lib/text/json.ts';
import { columnRounding } from '../_postgres/narrow-columns.ts';

const folder = mkdtempSync(join(tmpdir(), 'headgate-rounding-'));
let database: Awaited<ReturnType<typeof freshDatabase>>;
let client: Client;
let made = 0;
beforeAll(async () => {
  database = await freshDatabase();
  client = new Client({ connectionString: database.url });
  await client.connect();
});
afterAll(async () => {
  rmSync(folder, { recursive: true, force: true });
  await client.end();
  await database.drop();
});

const COLUMNS: Readonly<Record<string, string>> = {
  n: 'numeric(8,2)',
  whole: 'numeric(6)',
  r: 'real',
  d: 'double precision',
  at: 'timestamp(3)',
  clock: 'time(0)',
  day: 'date',
  name: 'varchar(3)',
  cost: 'money',
};
/** Each value stands for itself in one column, where it changes or not. */
const ROWS: readonly (readonly [string, string, boolean])[] = [
  ['n', '1.10', false],
  ['n', '1.100', false],
  ['n', '1.105', true],
  ['n', '-0.001', true],
  ['n', '1e-3', true],
  ['n', '1e3', false],
  ['whole', '12', false],
  ['whole', '12.0', false],
  ['whole', '12.5', true],
  ['r', '0.1', false],
  ['r', '16777216', false],
  ['r', '0.123456789', true],
  ['d', '0.1', false],
  ['d', '0.30000000000000004', false],
  ['d', '0.1234567890123456789', true],
  ['at', '2024-05-06T07:08:09.123', false],
  ['at', '2024-05-06T07:08:09.123000', false],
  ['at', '2024-05-06T07:08:09.1234', true],
  ['clock', '07:08:09.0', false],
  ['clock', '07:08:09.6', true],
  ['day', '2024-05-06', false],
  ['day', '2024-05-06T00:00:00Z', false],
  ['day', '2024-05-06T07:08:09', true],
  ['name', 'abc', false],
  ['name', 'ab  ', true],
  ['cost', '1.10', false],
  ['cost', '1.105', true],
];
const ROUNDED = Object.keys(COLUMNS).flatMap((name) => {
  const records = ROWS.filter(([column, , changes]) => column === name && changes).length;
  return records === 0 ? [] : [{ field: name, records }];
});

interface Moved {
  readonly rounded: unknown;
  readonly error: string | undefined;
  readonly lane: string | undefined;
  readonly rows: unknown[];
}

async function move(pipeline: JsonObject, sink: JsonObject = {}): Promise<Moved> {
  const name = `target${(made += 1)}`;
  const lines = Object.entries(COLUMNS).map(([column, type]) => `${column} ${type}`);
  await client.query(`CREATE TABLE ${name} (id int PRIMARY KEY, ${lines.join(', ')})`);
  const config = {
    connection_url: database.url,
    table_name: name,
    column_mapping: 'auto_map',
    ...sink,
  };
  const outcome = await run(
    planOfTree({ pipeline: { ...pipeline, sink: { type: 'postgres', config } } }),
  );
  const [only] = outcome.invocations;
  const { rows } = await client.query(`SELECT t::text FROM ${name} AS t ORDER BY id`);
  return {
    rounded: only?.rounded_fields,
    error: only?.error?.message,
    lane: only?.lane,
    rows,
  };
}

function jsonLines(): JsonObject {
  const path = join(folder, 'rows.jsonl');
  const numeric = new Set(['n', 'whole', 'r', 'd', 'cost']);
  const lines = ROWS.map(([column, text], id) => {
    const value = numeric.has(column) ? text : JSON.stringify(text);
    return `{"id":${id},"${column}":${value}}`;
  });
  writeFileSync(path, lines.join('\n'));
  return { source: { type: 'jsonl', config: { path } } };
}

function csv(): JsonObject {
  const path = join(folder, 'rows.csv');
  const names = Object.keys(COLUMNS);
  const lines = ROWS.map(([column, text], id) =>
    [id, ...names.map((name) => (name === column ? text : ''))].join(','),
  );
  writeFileSync(path, [`id,${names.join(',')}`, ...lines].join('\n'));
  return { source: { type: 'csv', config: { path, null_values: [''] } } };
}

/** From a table whose columns hold all the values. */
async function table(): Promise<JsonObject> {
  const name = `source${(made += 1)}`;
  const wide: Readonly<Record<string, string>> = {
    at: 'timestamp',
    clock: 'time',
    day: 'timestamp',
    name: 'text',
  };
  const lines = Object.keys(COLUMNS).map((column) => `${column} ${wide[column] ?? 'numeric'}`);
  await client.query(`CREATE TABLE ${name} (id int, ${lines.join(', ')})`);
  for (const [id, [column, text]] of ROWS.entries())
    await client.query(`INSERT INTO ${name} (id, ${column}) VALUES (${id}, '${text}')`);
  const query = `SELECT * FROM ${name} ORDER BY id`;
  return { source: { type: 'postgres', config: { connection_url: database.url, query } } };
}

const KEEP = [{ type: 'split', config: { field: 'absent', delimiter: ',' } }];

describe('what a column does not hold exactly', () => {
  test.each([
    ['JSON Lines', () => jsonLines()],
    ['CSV', () => csv()],
    ['a table', table],
  ])('is counted of %s, in every lane, and rounded alike', async (_name, source) => {
    const read = await source();
    const direct = await move(read);
    const records = await move({ ...read, transforms: KEEP });
    expect([direct.error, records.error]).toEqual([undefined, undefined]);
    expect(direct.rounded).toEqual(ROUNDED);
    expect(records).toEqual({ ...direct, lane: 'records' });
  });

  test.each([
    ['JSON Lines', () => jsonLines()],
    ['CSV', () => csv()],
    ['a table', table],
  ])('fails the run of %s where the config says so', async (_name, source) => {
    const { error, rows } = await move(await source(), { on_rounding: 'error' });
    expect(error).toContain('which would round');
    expect(rows).toEqual([]);
  });
});

describe('rows in the binary form', () => {
  const TYPES = {
    n: ['numeric', 'numeric(8,2)', '1.10', '1.105'],
    at: ['timestamp', 'timestamp(3)', '2024-05-06T07:08:09.123', '2024-05-06T07:08:09.1234'],
    clock: ['time', 'time(0)', '07:08:09', '07:08:09.6'],
    name: ['text', 'varchar(3)', 'abc', 'ab  '],
  } as const;

  test.each(Object.entries(TYPES))(
    'of %s are looked at, too',
    async (_name, [wide, narrow, exact, rounded]) => {
      const [from, into] = [`source${(made += 1)}`, `target${made}`];
      await client.query(`CREATE TABLE ${from} (id int, v ${wide}, last text)`);
      await client.query(`CREATE TABLE ${into} (id int, v ${narrow}, last text)`);
      const insert = (id: number, value: string | null) =>
        client.query(`INSERT INTO ${from} VALUES ($1, $2, 'x')`, [id, value]);
      const copy = async (sink: JsonObject = {}) => {
        await client.query(`TRUNCATE ${into}`);
        const connection = { connection_url: database.url };
        const query = `SELECT * FROM ${from} ORDER BY id`;
        const config = { table_name: into, column_mapping: 'auto_map', ...connection, ...sink };
        const source = { type: 'postgres', config: { ...connection, query } };
        const outcome = await run(
          planOfTree({ pipeline: { source, sink: { type: 'postgres', config } } }),
        );
        return outcome.invocations[0];
      };
      await insert(1, exact);
      await insert(2, null);
      const passed = await copy({ on_rounding: 'error' });
      expect([passed?.error, passed?.lane, passed?.rounded_fields]).toEqual([
        null,
        'bytes:pg_copy_binary',
        undefined,
      ]);
      await insert(3, rounded);
      expect((await copy())?.rounded_fields).toEqual([{ field: 'v', records: 1 }]);
      expect((await copy({ on_rounding: 'error' }))?.error?.message).toContain('would round');
    },
  );
});

test('the server changes a number exactly where it is said to', async () => {
  const scaled = fc
    .tuple(fc.bigInt({ min: -(10n ** 7n), max: 10n ** 7n }), fc.integer({ min: -6, max: 2 }))
    .map(([digits, power]) => `${digits}e${power}`);
  const types = ['numeric(30,2)', 'numeric(30,0)', 'numeric(20,-2)', 'double precision', 'real'];
  const number = fc.oneof(
    scaled,
    fc
      .double({ noNaN: true, min: -1e15, max: 1e15 })
      // The server refuses what is too small for it.
      .filter((value) => value === 0 || Math.abs(value) > 1e-30)
      .map(String),
  );
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(...types), number, async (type, text) => {
      const { rows } = await client.query<{ changed: boolean }>(
        `SELECT $1::text::${type}::text::numeric <> $1::text::numeric AS changed`,
        [text],
      );
      const limits = type.startsWith('numeric') ? { limits: type } : {};
      const rounding = columnRounding({ sqlType: type, ...limits }, undefined);
      expect(rounding?.rounds(text)).toBe(rows[0]?.changed);
    }),
    { numRuns: 300 },
  );
});
