/** What a repair leaves in the table, where keys are the trouble. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { Client } from 'pg';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { told, verifyTree } from '../../../test/fakes/verify.ts';
import { testEnv } from '../../../test/fakes/env.ts';
import { freshDatabase } from '../../../test/servers/postgres.ts';
import type { StateStore } from '../../kit/state-store.ts';
import type { JsonObject } from '../../lib/text/json.ts';
import { sqliteState } from '../../state/sqlite.ts';

const folder = mkdtempSync(join(tmpdir(), 'headgate-repair-'));
const database = await freshDatabase();
const client = new Client({ connectionString: database.url });
await client.connect();
afterAll(async () => {
  await client.end();
  await database.drop();
  rmSync(folder, { recursive: true, force: true });
});

interface Destination {
  readonly sink: JsonObject;
  readonly ask: (sql: string) => Promise<JsonObject[]>;
}

const DESTINATIONS: Readonly<Record<string, Destination>> = {
  SQLite: {
    sink: { type: 'sqlite', config: { database_url: join(folder, 'data.db') } },
    ask: (sql) => {
      const db = new DatabaseSync(join(folder, 'data.db'));
      const rows = sql.startsWith('SELECT') ? db.prepare(sql).all() : (db.exec(sql), []);
      db.close();
      return Promise.resolve(rows.map((row) => ({ ...row }) as JsonObject));
    },
  },
  PostgreSQL: {
    sink: { type: 'postgres', config: { connection_url: database.url } },
    ask: async (sql) => (await client.query<JsonObject>(sql)).rows,
  },
};

let tables = 0;

describe.each(Object.keys(DESTINATIONS))('in %s', (name) => {
  const { sink, ask } = DESTINATIONS[name] as Destination;

  /**
   * A table made by `ddl`, in which `t` stands for its name, and a document that writes the lines
   * into it.
   */
  async function settings(ddl: string, lines: readonly JsonObject[]) {
    const table = `t${(tables += 1)}`;
    await ask(ddl.replaceAll(/\bt\b/g, table));
    const path = join(folder, `${table}-${name}.jsonl`);
    writeFileSync(path, lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
    const config = {
      ...(sink['config'] as JsonObject),
      table_name: table,
      column_mapping: 'auto_map',
      write_mode: 'upsert',
      key: ['id'],
    };
    const document = {
      pipeline: { source: { type: 'jsonl', config: { path } }, sink: { ...sink, config } },
    };
    const rows = async (): Promise<string[]> =>
      (await ask(`SELECT * FROM ${table}`))
        .map((row) => Object.values(row).map(String).join(' '))
        .sort();
    const repair = () => verifyTree(document, { repair: true, allowDelete: true });
    return { document, rows, repair };
  }

  it('what is too many goes first, so that what is missing can take its place', async () => {
    const { rows, repair, document } = await settings(
      "CREATE TABLE t (id INTEGER PRIMARY KEY, mail TEXT UNIQUE); INSERT INTO t VALUES (1, 'a@x'), (3, 'c@x')",
      [
        { id: 2, mail: 'a@x' },
        { id: 3, mail: 'c@x' },
      ],
    );
    expect(await repair()).toMatchObject({ repaired_upserts: 1, repaired_deletes: 1 });
    expect(await rows()).toEqual(['2 a@x', '3 c@x']);
    expect((await verifyTree(document)).differences).toEqual([]);
  });

  it('a key that only looks like another is not written beside it', async () => {
    const { rows, repair, document } = await settings(
      "CREATE TABLE t (id TEXT PRIMARY KEY, v TEXT); INSERT INTO t VALUES ('2026-01-02', 'old'), ('2026-01-03 00:00:00', 'same')",
      [
        { id: '2026-01-02T00:00:00Z', v: 'new' },
        { id: '2026-01-03T00:00:00Z', v: 'same' },
      ],
    );
    expect(await repair()).toMatchObject({ repaired_upserts: 1, repaired_deletes: 0 });
    expect(await rows()).toEqual(['2026-01-02 new', '2026-01-03 00:00:00 same']);
    expect((await verifyTree(document)).differences).toEqual([]);
  });

  it('a key that reads like a truth value is reported and left where it is: it would be taken for a number', async () => {
    const { rows, repair, document } = await settings(
      "CREATE TABLE t (id TEXT PRIMARY KEY, v TEXT); INSERT INTO t VALUES ('true', 'extra'), ('1', 'kept'), ('0', 'kept')",
      [
        { id: '1', v: 'kept' },
        { id: '0', v: 'kept' },
      ],
    );
    await repair();
    expect((await rows()).filter((row) => row.endsWith('kept'))).toEqual(['0 kept', '1 kept']);
    expect(
      (await verifyTree(document)).differences.every(({ kind }) => kind === 'extra_in_dest'),
    ).toBe(true);
  });

  it('a row without a key is reported and left where it is, and keeps nothing else from being repaired', async () => {
    const { rows, repair, document } = await settings(
      "CREATE TABLE t (id TEXT UNIQUE, v TEXT); INSERT INTO t VALUES (NULL, 'none'), ('a', 'old'), ('b', 'extra')",
      [{ id: 'a', v: 'new' }],
    );
    expect(
      await verifyTree(document, { repair: true, allowDelete: true, dryRun: true }),
    ).toMatchObject({ repaired_deletes: 1 });
    expect(await repair()).toMatchObject({ repaired_upserts: 1, repaired_deletes: 1 });
    expect(await rows()).toEqual(['a new', 'null none']);
    expect(told((await verifyTree(document)).differences)).toEqual(['extra_in_dest {"id":null} ']);
  });
});

it('a key in other letters, which the table takes for the same, is not lost', async () => {
  const { ask } = DESTINATIONS['SQLite'] as Destination;
  await ask(
    "CREATE TABLE letters (id TEXT PRIMARY KEY COLLATE NOCASE, v INTEGER); INSERT INTO letters VALUES ('abc', 1), ('x', 2)",
  );
  writeFileSync(join(folder, 'letters.csv'), 'id,v\nAbc,1\nx,2\n');
  const config = {
    database_url: join(folder, 'data.db'),
    table_name: 'letters',
    column_mapping: 'auto_map',
    write_mode: 'upsert',
    key: ['id'],
  };
  const document = {
    pipeline: {
      source: { type: 'csv', config: { path: join(folder, 'letters.csv') } },
      sink: { type: 'sqlite', config },
    },
  };
  await verifyTree(document, { repair: true, allowDelete: true });
  expect(await ask('SELECT id, v FROM letters ORDER BY 1')).toEqual([
    { id: 'Abc', v: 1 },
    { id: 'x', v: 2 },
  ]);
});

describe('beside a run of the row', () => {
  const file = join(folder, 'beside.db');
  const KEY = 'test::row-0';
  const OTHER = { token: 'other', ttlMs: 60_000, holder: { run_id: 'other', host: 'elsewhere' } };
  const database_url = `sqlite:${file}?mode=rwc`;
  const path = join(folder, 'beside.jsonl');
  const document = {
    pipeline: {
      source: { type: 'jsonl', config: { path } },
      sink: {
        type: 'sqlite',
        config: {
          database_url,
          table_name: 't',
          column_mapping: 'auto_map',
          write_mode: 'upsert',
          key: ['id'],
        },
      },
      state: { type: 'sqlite', config: { database_url, table: 'state' } },
    },
  };
  const data = (sql: string): unknown[] => {
    using db = new DatabaseSync(file);
    return db.prepare(sql).all();
  };
  writeFileSync(path, '{"id":1,"v":"old"}\n');
  const held = async (work: (store: StateStore) => Promise<unknown>): Promise<void> => {
    const config = { database_url, table: 'state' };
    const store = await sqliteState.open(config, { env: testEnv() } as never);
    await work(store);
    await store.close();
  };
  const task = { repair: true, allowDelete: true };

  beforeEach(() => {
    rmSync(file, { force: true });
    data('CREATE TABLE t (id INTEGER PRIMARY KEY, v TEXT)');
    data("INSERT INTO t VALUES (1, 'new'), (2, 'new')");
  });

  it('is refused, before anything is read', async () => {
    await held((store) => store.lease(KEY, OTHER));
    await expect(verifyTree(document, task)).rejects.toMatchObject({
      code: 'state_held',
      message: expect.stringContaining('a repair beside it could undo what it writes') as string,
    });
    expect(data('SELECT v FROM t')).toEqual([{ v: 'new' }, { v: 'new' }]);
    // Whoever only looks is in nobody's way.
    for (const only of [{ repair: false }, { repair: true, allowDelete: true, dryRun: true }])
      expect((await verifyTree(document, only)).differences).toHaveLength(2);
  });

  it('writes nothing when one began while the repair did not answer', async () => {
    const takenOver = async (): Promise<void> =>
      held(async (store) => {
        const { token } = await store.lease(KEY, OTHER);
        await store.lease(KEY, { ...OTHER, instead: token });
      });
    await expect(
      verifyTree(document, task, testEnv(), { onRead: takenOver }),
    ).rejects.toMatchObject({ code: 'state_lease_lost' });
    expect(data('SELECT v FROM t')).toEqual([{ v: 'new' }, { v: 'new' }]);
  });

  it('lets none begin until it is done', async () => {
    const seen: unknown[] = [];
    const onRead = (): Promise<void> =>
      held(async (store) => seen.push((await store.lease(KEY, OTHER)).holder['run_id']));
    await verifyTree(document, task, testEnv(), { onRead });
    expect(seen).toEqual(['run-1']);
    expect(data('SELECT v FROM t')).toEqual([{ v: 'old' }]);
    await held(async (store) => expect((await store.lease(KEY, OTHER)).token).toBe('other'));
  });
});
