/**
 * A table of a PostgreSQL database and its changes, copied into another table. Killed at every
 * failpoint, while rows change between the kill and the next run, the copy is the table: nothing
 * lost, nothing twice, in whatever order steps became durable.
 */
import { DatabaseSync } from 'node:sqlite';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { stringifyJson, type JsonObject } from '../../../src/lib/text/json.ts';
import { eventually } from '../../support/eventually.ts';
import { Crasher, type CrashTicket, type RunReport } from '../crash/crash.ts';
import { PUBLICATION, ReplicatedTable, SLOT, TABLE } from '../fixtures/replicated-table.ts';

const LONG = { timeout: 900_000 };
const ROWS = 12;
const PAGE = 5;

let server: ReplicatedTable;
beforeAll(async () => {
  server = await ReplicatedTable.start();
});
afterAll(() => server[Symbol.asyncDispose]());

interface Target extends AsyncDisposable {
  readonly sink: JsonObject;
  rows(): Promise<readonly string[]>;
}

const KEYED: JsonObject = {
  table_name: 'copied',
  column_mapping: 'auto_map',
  write_mode: 'upsert',
  key: ['id'],
  delete_marker: { field: '__op', values: ['d'] },
};

async function postgresTarget(): Promise<Target> {
  await server.client.query(`DROP TABLE IF EXISTS copied, _svc_commit_token;
    CREATE TABLE copied (id int PRIMARY KEY, n int)`);
  return {
    sink: { type: 'postgres', config: { connection_url: server.url, ...KEYED } },
    async rows() {
      const { rows } = await server.client.query<{ id: number; n: number }>('SELECT * FROM copied');
      return rows.map(({ id, n }) => `${id}=${n}`).sort();
    },
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
}

function sqliteTarget(): Promise<Target> {
  const folder = mkdtempSync(join(tmpdir(), 'headgate-replica-'));
  const path = join(folder, 'copied.db');
  const database = new DatabaseSync(path);
  database.exec('CREATE TABLE copied (id INTEGER PRIMARY KEY, n INTEGER)');
  return Promise.resolve({
    sink: { type: 'sqlite', config: { database_url: path, ...KEYED } },
    rows: () =>
      Promise.resolve(
        database
          .prepare('SELECT id, n FROM copied')
          .all()
          .map(({ id, n }) => `${String(id)}=${String(n)}`)
          .sort(),
      ),
    [Symbol.asyncDispose]: () => {
      database.close();
      rmSync(folder, { recursive: true });
      return Promise.resolve();
    },
  });
}

/**
 * Rows change when the position is taken and no row was read: the snapshot has the new ones, and the
 * changes come again behind it.
 */
async function changedInTheMiddle(
  crasher: Crasher,
  ticket: CrashTicket,
  folder: string,
): Promise<RunReport | undefined> {
  const hold = { failpoint: 'after_phase', held: join(folder, 'held'), free: join(folder, 'free') };
  let isOver = false;
  const running = crasher.run({ ...ticket, hold }).finally(() => {
    isOver = true;
  });
  await eventually(() => {
    if (!isOver && !existsSync(hold.held)) throw new Error('it has not come there');
    return Promise.resolve();
  });
  await change(0);
  writeFileSync(hold.free, '');
  return running;
}

/** What changes while nobody reads: old and new rows, and keys that come back. */
async function change(round: number): Promise<void> {
  const { client } = server;
  await client.query(`UPDATE ${TABLE} SET n = n + 100 WHERE id % 5 = ${round % 5}`);
  await client.query(`DELETE FROM ${TABLE} WHERE id = ${round + 1} OR id = ${round + 9}`);
  await client.query(`INSERT INTO ${TABLE} VALUES (${1000 + round}, ${round})`);
  await client.query(
    `INSERT INTO ${TABLE} VALUES (2, -${round}) ON CONFLICT (id) DO UPDATE SET n = -${round}`,
  );
}

/** With it the snapshot goes on in the middle; without, it begins again. */
const INCREMENTAL = { replication: { type: 'incremental', column: 'id', initial_value: 0 } };

test.each([
  ['postgres', 'a snapshot that goes on', postgresTarget, INCREMENTAL],
  ['sqlite', 'a snapshot that begins again', sqliteTarget, {}],
] as const)('%s, %s: the copy is the table', LONG, async (_name, _how, target, incremental) => {
  using crasher = new Crasher();
  const move = async (crashAt: number | null): Promise<readonly string[]> => {
    await server.renew('id int PRIMARY KEY, n int');
    await server.dropSlots();
    await server.client.query(
      `INSERT INTO ${TABLE} SELECT i, i FROM generate_series(1, ${ROWS}) AS i`,
    );
    await using to = await target();
    const state = mkdtempSync(join(tmpdir(), 'headgate-replica-state-'));
    const tree = stringifyJson(documentOf(to.sink, state, incremental));
    try {
      const first = await changedInTheMiddle(crasher, { tree, crashAt }, state);
      // The server sends changes in more or fewer pieces, so the last steps are not there every time:
      // what was not killed had fewer of them, and has done everything.
      if (crashAt === null) expect(first).toBeDefined();
      if (first !== undefined) {
        expect(first.error, `a crash at ${crashAt} was not reached`).toBeNull();
        expect(first.failpoints.length).toBeLessThanOrEqual(crashAt ?? Infinity);
      }
      await change(1);
      const again = await crasher.run({ tree, crashAt: null });
      expect(again?.error ?? null, `after a crash at ${crashAt}`).toBeNull();
      expect(await to.rows(), `after a crash at ${crashAt}`).toEqual(await original());
      return [...(first?.failpoints ?? [])];
    } finally {
      rmSync(state, { recursive: true });
    }
  };
  const failpoints = await move(null);
  expect(failpoints.filter((name) => name.startsWith('after_anchor of'))).toHaveLength(1);
  expect(failpoints.filter((name) => name.startsWith('after_anchor_stored'))).toHaveLength(1);
  expect(failpoints.filter((name) => name.startsWith('after_phase'))).toHaveLength(2);
  const written = failpoints.filter((name) => name.startsWith('before_write'));
  expect(written.length, 'pages of both halves').toBeGreaterThan(ROWS / PAGE + 1);
  for (const crashAt of failpoints.keys()) await move(crashAt);
});

async function original(): Promise<readonly string[]> {
  const { rows } = await server.client.query<{ id: number; n: number }>(`SELECT * FROM ${TABLE}`);
  return rows.map(({ id, n }) => `${id}=${n}`).sort();
}

function documentOf(sink: JsonObject, state: string, incremental: JsonObject): JsonObject {
  const query = `SELECT id, n FROM ${TABLE}`;
  return {
    version: 1,
    name: 'replica',
    delivery: 'exactly_once',
    replication: {
      continuous: false,
      snapshot: {
        source: {
          type: 'postgres',
          config: { connection_url: server.url, query, batch_size: PAGE, ...incremental },
        },
      },
    },
    pipeline: {
      source: {
        type: 'postgres-cdc',
        config: {
          connection_url: server.url,
          slot_name: SLOT,
          publication_name: PUBLICATION,
          batch_size: PAGE,
          idle_timeout: 0.6,
          status_update_interval: 0.5,
        },
      },
      transforms: [{ type: 'cdc_unwrap' }],
      sink,
      state: { type: 'file', config: { path: state } },
    },
  };
}
