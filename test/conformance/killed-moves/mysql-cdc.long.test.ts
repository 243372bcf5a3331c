/**
 * Changes of a MariaDB server move to sinks that commit records and watermark together, alone and
 * behind a snapshot. Killed at every failpoint and run again, the destination holds each change
 * once, and a copy is the table.
 */
import { DatabaseSync } from 'node:sqlite';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { isObject, stringifyJson, type JsonObject } from '../../../src/lib/text/json.ts';
import { mariadbOrReason } from '../../servers/mariadb.ts';
import { startPostgres, type PostgresServer } from '../../servers/postgres.ts';
import { Crasher } from '../crash/crash.ts';
import {
  DATABASE,
  LoggedTable,
  SERVER_ID,
  TABLE,
  type LogPosition,
} from '../fixtures/logged-table.ts';
import { changedInTheMiddle } from './changed-in-the-middle.ts';

const LONG = { timeout: 900_000 };
/** More than a page. */
const LARGE = 25;
const PAGE = 10;
const { reason } = mariadbOrReason({ isOwn: true });

let server: LoggedTable;
let postgres: PostgresServer;
let client: Client;
beforeAll(async () => {
  if (reason !== undefined) return;
  server = await LoggedTable.start();
  postgres = await startPostgres();
  client = new Client({ connectionString: postgres.url });
  client.on('error', () => {});
  await client.connect();
});
afterAll(async () => {
  if (reason !== undefined) return;
  await client.end();
  await postgres.stop();
  await server[Symbol.asyncDispose]();
});

type Row = Readonly<Record<string, unknown>>;

interface Target extends AsyncDisposable {
  readonly sink: JsonObject;
  rows(): Promise<readonly Row[]>;
}

async function postgresTarget(columns: string, config: JsonObject): Promise<Target> {
  await client.query(
    `DROP TABLE IF EXISTS copied, _svc_commit_token; CREATE TABLE copied (${columns})`,
  );
  return {
    sink: {
      type: 'postgres',
      config: {
        connection_url: postgres.url,
        table_name: 'copied',
        column_mapping: 'auto_map',
        ...config,
      },
    },
    rows: async () => (await client.query<Row>('SELECT * FROM copied')).rows,
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
}

function sqliteTarget(columns: string, config: JsonObject): Promise<Target> {
  const folder = mkdtempSync(join(tmpdir(), 'headgate-mysql-killed-'));
  const path = join(folder, 'copied.db');
  const database = new DatabaseSync(path);
  database.exec(`CREATE TABLE copied (${columns})`);
  return Promise.resolve({
    sink: {
      type: 'sqlite',
      config: { database_url: path, table_name: 'copied', column_mapping: 'auto_map', ...config },
    },
    rows: () => Promise.resolve(database.prepare('SELECT * FROM copied').all()),
    [Symbol.asyncDispose]() {
      database.close();
      rmSync(folder, { recursive: true });
      return Promise.resolve();
    },
  });
}

function changesFrom(more: JsonObject = {}): JsonObject {
  return {
    type: 'mysql-cdc',
    config: {
      connection_url: server.url,
      server_id: SERVER_ID,
      include_tables: [`${DATABASE}.${TABLE}`],
      batch_size: PAGE,
      idle_timeout: 0.6,
      ...more,
    },
  };
}

/** Two single changes, a large transaction, an update, a delete, and one more. */
async function makeChanges(): Promise<LogPosition> {
  const start = await server.renew('id int PRIMARY KEY, n int');
  for (const sql of [
    `INSERT INTO ${TABLE} VALUES (1, 1)`,
    `INSERT INTO ${TABLE} VALUES (2, 2)`,
    `INSERT INTO ${TABLE} SELECT seq, seq FROM seq_3_to_${LARGE + 2}`,
    `UPDATE ${TABLE} SET n = 0 WHERE id = 1`,
    `DELETE FROM ${TABLE} WHERE id = 2`,
    `INSERT INTO ${TABLE} VALUES (1000, 0)`,
  ])
    await server.client.query(sql);
  return start;
}

const EXPECTED = [
  'c 1',
  'c 2',
  ...Array.from({ length: LARGE }, (_, index) => `c ${index + 3}`),
  'u 1',
  'd 2',
  'c 1000',
].sort();

/** `before` and `after` are JSON, or its text. */
function changeText({ op, before, after }: Row): string {
  const image: unknown = after ?? before;
  const row: unknown = typeof image === 'string' ? JSON.parse(image) : image;
  return `${String(op)} ${isObject(row) ? Number(row['id']) : '?'}`;
}

describe.skipIf(reason !== undefined)(`changes ${reason ?? ''}`, () => {
  test.each([
    ['postgres', postgresTarget, 'op text, before jsonb, after jsonb'],
    ['sqlite', sqliteTarget, 'op TEXT, before TEXT, after TEXT'],
  ] as const)(
    '%s: each once after a kill at every failpoint',
    LONG,
    async (_name, target, columns) => {
      using crasher = new Crasher();
      const move = async (crashAt: number | null): Promise<readonly string[]> => {
        const start = await makeChanges();
        await using to = await target(columns, {});
        const state = mkdtempSync(join(tmpdir(), 'headgate-mysql-state-'));
        const tree = stringifyJson({
          version: 1,
          name: 'killed',
          delivery: 'exactly_once',
          pipeline: {
            source: changesFrom({ start_position: { type: 'file_pos', ...start } }),
            transforms: [{ type: 'select', config: { fields: ['op', 'before', 'after'] } }],
            sink: to.sink,
            state: { type: 'file', config: { path: state } },
          },
        });
        try {
          const first = await crasher.run({ tree, crashAt });
          expect(first === undefined, `crash at ${crashAt}`).toBe(crashAt !== null);
          const again = crashAt === null ? first : await crasher.run({ tree, crashAt: null });
          expect(again?.error ?? null, `after a crash at ${crashAt}`).toBeNull();
          const found = (await to.rows()).map(changeText);
          expect(found.sort(), `after a crash at ${crashAt}`).toEqual(EXPECTED);
          return first?.failpoints ?? [];
        } finally {
          rmSync(state, { recursive: true });
        }
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

/** What changes while nobody reads: old and new rows, and keys that come back. */
async function change(round: number): Promise<void> {
  await server.client.query(`UPDATE ${TABLE} SET n = n + 100 WHERE id % 5 = ${round % 5};
    DELETE FROM ${TABLE} WHERE id = ${round + 1} OR id = ${round + 9};
    INSERT INTO ${TABLE} VALUES (${1000 + round}, ${round});
    INSERT INTO ${TABLE} VALUES (2, -${round}) ON DUPLICATE KEY UPDATE n = -${round}`);
}

const keysAndValues = (rows: readonly Row[]): string[] =>
  rows.map(({ id, n }) => `${String(id)}=${String(n)}`).sort();

async function original(): Promise<string[]> {
  const [rows] = await server.client.query(`SELECT * FROM ${TABLE}`);
  return keysAndValues(rows as Row[]);
}

/** With it the snapshot goes on in the middle; without, it begins again. */
const INCREMENTAL = { replication: { type: 'incremental', column: 'id', initial_value: 0 } };

describe.skipIf(reason !== undefined)('a replication', () => {
  test.each([
    ['postgres', 'a snapshot that goes on', postgresTarget, INCREMENTAL],
    ['sqlite', 'a snapshot that begins again', sqliteTarget, {}],
  ] as const)('%s, %s: the copy is the table', LONG, async (_name, _how, target, incremental) => {
    using crasher = new Crasher();
    const move = async (crashAt: number | null): Promise<readonly string[]> => {
      await server.renew('id int PRIMARY KEY, n int');
      await server.client.query(`INSERT INTO ${TABLE} SELECT seq, seq FROM seq_1_to_12`);
      await using to = await target('id int PRIMARY KEY, n int', KEYED);
      const state = mkdtempSync(join(tmpdir(), 'headgate-mysql-state-'));
      const query = `SELECT id, n FROM ${TABLE}`;
      const config = { connection_url: server.databaseUrl, query, batch_size: 5, ...incremental };
      const tree = stringifyJson({
        version: 1,
        name: 'replica',
        delivery: 'exactly_once',
        replication: { continuous: false, snapshot: { source: { type: 'mysql', config } } },
        pipeline: {
          source: changesFrom({ batch_size: 5 }),
          transforms: [{ type: 'cdc_unwrap' }],
          sink: to.sink,
          state: { type: 'file', config: { path: state } },
        },
      });
      try {
        const first = await changedInTheMiddle(crasher, { tree, crashAt }, state, () => change(0));
        expect(first === undefined, `crash at ${crashAt}`).toBe(crashAt !== null);
        await change(1);
        const again = await crasher.run({ tree, crashAt: null });
        expect(again?.error ?? null, `after a crash at ${crashAt}`).toBeNull();
        expect(keysAndValues(await to.rows()), `after a crash at ${crashAt}`).toEqual(
          await original(),
        );
        return first?.failpoints ?? [];
      } finally {
        rmSync(state, { recursive: true });
      }
    };
    const failpoints = await move(null);
    expect(failpoints.filter((name) => name.startsWith('after_anchor of'))).toHaveLength(1);
    expect(failpoints.filter((name) => name.startsWith('after_phase'))).toHaveLength(2);
    for (const crashAt of failpoints.keys()) await move(crashAt);
  });
});
