/**
 * Changes of a PostgreSQL database move to a sink that commits records and watermark together. Killed
 * at every failpoint and run again, the destination holds each change once; so does one of a key.
 */
import { DatabaseSync } from 'node:sqlite';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { stringifyJson, type JsonObject } from '../../../src/lib/text/json.ts';
import { Crasher } from '../crash/crash.ts';
import { PUBLICATION, ReplicatedTable, SLOT } from '../fixtures/replicated-table.ts';

const LONG = { timeout: 900_000 };
/** More than a page. */
const LARGE = 25;
const PAGE = 10;
/** Two single changes, a large transaction, an update, a delete, and one more. */
const CHANGES = 2 + LARGE + 3;

let server: ReplicatedTable;
beforeAll(async () => {
  server = await ReplicatedTable.start();
});
afterAll(() => server[Symbol.asyncDispose]());

interface Target extends AsyncDisposable {
  readonly sink: JsonObject;
  /** `op` and `lsn` of every record, in the order of the log. */
  rows(): Promise<{ op: string; lsn: string; id: number }[]>;
}

async function postgresTarget(): Promise<Target> {
  await server.client.query(`DROP TABLE IF EXISTS copied, _svc_commit_token;
    CREATE TABLE copied (op text, lsn text, before jsonb, after jsonb)`);
  return {
    sink: {
      type: 'postgres',
      config: { connection_url: server.url, table_name: 'copied', column_mapping: 'auto_map' },
    },
    async rows() {
      const { rows } = await server.client.query<{ op: string; lsn: string; id: number }>(
        `SELECT op, lsn, (coalesce(after, before) ->> 'id')::int AS id FROM copied ORDER BY lsn::pg_lsn, id`,
      );
      return rows;
    },
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
}

function sqliteTarget(): Promise<Target> {
  const folder = mkdtempSync(join(tmpdir(), 'headgate-cdc-killed-'));
  const path = join(folder, 'copied.db');
  return Promise.resolve({
    sink: {
      type: 'sqlite',
      config: { database_url: path, table_name: 'copied', column_mapping: 'auto_map' },
    },
    rows() {
      const database = new DatabaseSync(path);
      try {
        const rows = database
          .prepare(
            `SELECT op, lsn, json_extract(coalesce(after, before), '$.id') AS id FROM copied ORDER BY ts_ms, lsn, id`,
          )
          .all();
        return Promise.resolve(rows as unknown as { op: string; lsn: string; id: number }[]);
      } finally {
        database.close();
      }
    },
    [Symbol.asyncDispose]: () => {
      rmSync(folder, { recursive: true });
      return Promise.resolve();
    },
  });
}

async function makeChanges(): Promise<void> {
  await server.renew('id int PRIMARY KEY, n int');
  const { client } = server;
  await client.query('INSERT INTO orders VALUES (1, 1)');
  await client.query('INSERT INTO orders VALUES (2, 2)');
  await client.query(`INSERT INTO orders SELECT i, i FROM generate_series(3, ${LARGE + 2}) AS i`);
  await client.query('UPDATE orders SET n = 0 WHERE id = 1');
  await client.query('DELETE FROM orders WHERE id = 2');
  await client.query('INSERT INTO orders VALUES (1000, 0)');
}

const EXPECTED = [
  'insert 1',
  'insert 2',
  ...Array.from({ length: LARGE }, (_, index) => `insert ${index + 3}`),
  'update 1',
  'delete 2',
  'insert 1000',
].sort();

test.each([
  ['postgres', postgresTarget],
  ['sqlite', sqliteTarget],
] as const)('%s: each change once after a kill at every failpoint', LONG, async (_name, target) => {
  using crasher = new Crasher();
  const move = async (crashAt: number | null): Promise<readonly string[]> => {
    await makeChanges();
    await using to = await target();
    const state = mkdtempSync(join(tmpdir(), 'headgate-cdc-state-'));
    const tree = stringifyJson({
      version: 1,
      name: 'killed',
      delivery: 'exactly_once',
      pipeline: {
        source: {
          type: 'postgres-cdc',
          config: {
            connection_url: server.url,
            slot_name: SLOT,
            publication_name: PUBLICATION,
            batch_size: PAGE,
            idle_timeout: 2,
            // A position that holds no change is committed, too, at the end of the run only.
            status_update_interval: 1.9,
            max_messages: CHANGES,
          },
        },
        sink: to.sink,
        state: { type: 'file', config: { path: state } },
      },
    });
    try {
      const first = await crasher.run({ tree, crashAt });
      expect(first === undefined, `crash at ${crashAt}`).toBe(crashAt !== null);
      const again = crashAt === null ? first : await crasher.run({ tree, crashAt: null });
      expect(again?.error ?? null, `after a crash at ${crashAt}`).toBeNull();
      const found = (await to.rows()).map(({ op, id }) => `${op} ${id}`);
      expect(found.sort(), `after a crash at ${crashAt}`).toEqual(EXPECTED);
      return first?.failpoints ?? [];
    } finally {
      rmSync(state, { recursive: true });
    }
  };
  const failpoints = await move(null);
  expect(failpoints.length).toBeGreaterThan(8);
  for (const crashAt of failpoints.keys()) await move(crashAt);
});
