/**
 * Changes that SQL Server captures move to a sink that commits records and watermark together, alone
 * and behind a snapshot. Killed at every failpoint and run again, the destination holds each change
 * once, and a copy is the table.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { isObject, stringifyJson, type JsonObject } from '../../../src/lib/text/json.ts';
import { startFakeMssql, type FakeMssql } from '../../servers/mssql.ts';
import { CapturedDatabase } from '../../servers/mssql/captured-database.ts';
import { Crasher } from '../crash/crash.ts';
import { changedInTheMiddle } from './changed-in-the-middle.ts';
import { sqliteTarget, type Row } from './sqlite-target.ts';

const LONG = { timeout: 900_000 };
const PAGE = 5;
/** More than a page. */
const LARGE = 12;

let server: FakeMssql;
let database: CapturedDatabase;
beforeAll(async () => {
  server = await startFakeMssql();
  database = await CapturedDatabase.make(server);
});
afterAll(async () => {
  await database[Symbol.asyncDispose]();
  await server.close();
});

let tables = 0;

/** New tables with capture instances. */
async function renew(): Promise<{ readonly orders: string; readonly lines: string }> {
  tables += 1;
  const [orders, lines] = [`orders_${tables}`, `lines_${tables}`];
  for (const table of [orders, lines])
    await database.table(table, 'id INT NOT NULL PRIMARY KEY, n INT');
  return { orders, lines };
}

function changesFrom(names: readonly string[], more: JsonObject = {}): JsonObject {
  return {
    type: 'mssql-cdc',
    config: {
      connection_url: database.url,
      capture_instances: names.map((name) => `dbo_${name}`),
      batch_size: PAGE,
      poll_interval: 0.05,
      idle_timeout: 0.6,
      ...more,
    },
  };
}

const insert = (table: string, id: number, n = id): string =>
  `INSERT INTO dbo.${table} VALUES (${id}, ${n})`;

/** Single changes of two tables, a large transaction over both, an update and a delete. */
async function makeChanges(orders: string, lines: string): Promise<void> {
  await database.run(insert(orders, 1), insert(lines, 2));
  const many = Array.from({ length: LARGE }, (_, at) =>
    insert(at % 2 === 0 ? orders : lines, at + 3),
  );
  await database.transaction(...many);
  await database.run(
    `UPDATE dbo.${orders} SET n = 0 WHERE id = 1`,
    `DELETE FROM dbo.${lines} WHERE id = 2`,
    insert(orders, 1000),
  );
}

const EXPECTED = [
  'i 1',
  'i 2',
  ...Array.from({ length: LARGE }, (_, index) => `i ${index + 3}`),
  'u 1',
  'd 2',
  'i 1000',
].sort();

/** `before` and `after` are JSON as text. */
function changeText({ op, before, after }: Row): string {
  const image: unknown = after ?? before;
  const row: unknown = typeof image === 'string' ? JSON.parse(image) : image;
  return `${String(op)} ${isObject(row) ? Number(row['id']) : '?'}`;
}

describe('changes', () => {
  test.each([5, 1])(
    'each once after a kill at every failpoint, %i connections',
    LONG,
    async (most) => {
      using crasher = new Crasher();
      const move = async (crashAt: number | null): Promise<readonly string[]> => {
        const { orders, lines } = await renew();
        await makeChanges(orders, lines);
        using to = sqliteTarget('op TEXT, before TEXT, after TEXT', {});
        const source = changesFrom([orders, lines], {
          start_position: 'earliest',
          max_connections: most,
        });
        const tree = stringifyJson({
          version: 1,
          name: 'killed',
          delivery: 'exactly_once',
          pipeline: {
            source,
            transforms: [{ type: 'select', config: { fields: ['op', 'before', 'after'] } }],
            sink: to.sink,
            state: { type: 'file', config: { path: to.folder } },
          },
        });
        const first = await crasher.run({ tree, crashAt });
        expect(first === undefined, `crash at ${crashAt}`).toBe(crashAt !== null);
        const again = crashAt === null ? first : await crasher.run({ tree, crashAt: null });
        expect(again?.error ?? null, `after a crash at ${crashAt}`).toBeNull();
        expect(to.rows().map(changeText).sort(), `after a crash at ${crashAt}`).toEqual(EXPECTED);
        return first?.failpoints ?? [];
      };
      const failpoints = await move(null);
      expect(failpoints.length).toBeGreaterThan(8);
      for (const crashAt of failpoints.keys()) await move(crashAt);
    },
  );
});

const KEYED: JsonObject = {
  write_mode: 'upsert',
  key: ['id'],
  delete_marker: { field: '__op', values: ['d'] },
};

/** What changes while nobody reads: old and new rows, keys that change, and keys that come back. */
async function change(orders: string, round: number): Promise<void> {
  await database.transaction(
    `UPDATE dbo.${orders} SET n = n + 100 WHERE id % 5 = ${round}`,
    `DELETE FROM dbo.${orders} WHERE id = ${round + 1} OR id = ${round + 9}`,
    insert(orders, 1000 + round, round),
  );
  await database.run(
    `UPDATE dbo.${orders} SET id = ${2000 + round} WHERE id = ${round + 6}`,
    `DELETE FROM dbo.${orders} WHERE id = 2`,
    insert(orders, 2, -round),
  );
}

const keysAndValues = (rows: readonly Row[]): string[] =>
  rows.map(({ id, n }) => `${String(id)}=${String(n)}`).sort();

/** With it the snapshot goes on in the middle; without, it begins again. */
const INCREMENTAL = { replication: { type: 'incremental', column: 'id', initial_value: 0 } };

describe('a replication', () => {
  test.each([
    ['a snapshot that goes on', 'replication', INCREMENTAL],
    ['a snapshot that begins again', 'mirror', {}],
  ] as const)('%s, `%s`: the copy is the table', LONG, async (_how, block, incremental) => {
    using crasher = new Crasher();
    const move = async (crashAt: number | null): Promise<readonly string[]> => {
      const { orders } = await renew();
      for (let id = 1; id <= 12; id += 1) await database.run(insert(orders, id));
      using to = sqliteTarget('id int PRIMARY KEY, n int', KEYED);
      const query = `SELECT id, n FROM dbo.${orders}`;
      const config = { connection_url: database.url, query, batch_size: PAGE, ...incremental };
      const tree = stringifyJson({
        version: 1,
        name: 'replica',
        delivery: 'exactly_once',
        [block]: { continuous: false, snapshot: { source: { type: 'mssql', config } } },
        pipeline: {
          source: changesFrom([orders]),
          transforms: [{ type: 'cdc_unwrap' }],
          sink: to.sink,
          state: { type: 'file', config: { path: to.folder } },
        },
      });
      const ticket = { tree, crashAt };
      const first = await changedInTheMiddle(crasher, ticket, to.folder, () => change(orders, 0));
      expect(first === undefined, `crash at ${crashAt}`).toBe(crashAt !== null);
      await change(orders, 1);
      const again = await crasher.run({ tree, crashAt: null });
      expect(again?.error ?? null, `after a crash at ${crashAt}`).toBeNull();
      const original = await database.behind.query<Row>(`SELECT id, n FROM dbo.${orders}`);
      expect(keysAndValues(to.rows()), `after a crash at ${crashAt}`).toEqual(
        keysAndValues(original.rows),
      );
      return first?.failpoints ?? [];
    };
    const failpoints = await move(null);
    expect(failpoints.filter((name) => name.startsWith('after_anchor of'))).toHaveLength(1);
    expect(failpoints.filter((name) => name.startsWith('after_phase'))).toHaveLength(2);
    for (const crashAt of failpoints.keys()) await move(crashAt);
  });
});
