import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { afterAll, describe, expect, it } from 'vitest';
import { aRun, describeHistory } from '../../test/conformance/history.ts';
import { testEnv } from '../../test/fakes/env.ts';
import { freshDatabase } from '../../test/servers/postgres.ts';
import { openSqlite } from '../lib/sql/sqlite.ts';
import { MemoryHistory } from './memory/memory-history.ts';
import { openHistory } from './open.ts';
import { openDatabase, SqliteClient } from './sqlite/sqlite-client.ts';
import { migrate } from './sqlite/migrate.ts';
import { MIGRATIONS } from './sql/migrations/index.ts';
import type { WriteAheadLog } from './sqlite/write-ahead-log.ts';
import { eventually } from '../../test/support/eventually.ts';

const folder = mkdtempSync(join(tmpdir(), 'headgate-history-'));
const databases: { readonly url: string; drop(): Promise<void> }[] = [];
afterAll(async () => {
  rmSync(folder, { recursive: true, force: true });
  for (const database of databases) await database.drop();
});

const env = testEnv({ cwd: folder });
let count = 0;
let current = '';

function fresh(): string {
  count += 1;
  current = `sqlite:run-${count}.db`;
  return current;
}

describeHistory('memory', { open: () => openHistory(undefined, env), reopen: undefined });
describeHistory('sqlite', {
  open: () => openHistory(fresh(), env),
  reopen: () => openHistory(current, env),
});

describeHistory('postgres', {
  async open() {
    databases.push(await freshDatabase());
    return openHistory(databases.at(-1)?.url, env);
  },
  reopen: () => openHistory(databases.at(-1)?.url, env),
});

describe('opening a history', () => {
  it.each(['sqlite:a.db', 'sqlite://./b.db', `sqlite://${folder}/c.db`, 'memory'])(
    'accepts %s',
    async (url) => {
      const history = await openHistory(url, env);
      await history.ping();
      await history.close();
    },
  );

  it.each(['mysql://u:hunter22@h/db', 'mysql://h', 'history.db'])(
    'refuses %s, naming the accepted forms and no password',
    async (url) => {
      const error: unknown = await openHistory(url, env).catch((thrown: unknown) => thrown);
      expect(error).toMatchObject({
        code: 'history_unavailable',
        hint: 'accepted forms: `memory`, `sqlite:PATH`, `sqlite://PATH`, `postgres://…`',
      });
      expect(String(error)).not.toContain('hunter22');
    },
  );

  it('refuses a path that cannot be a database', async () => {
    await expect(openHistory('sqlite:/dev/null/a.db', env)).rejects.toMatchObject({
      message: expect.stringContaining('the history database /dev/null/a.db cannot be opened'),
      hint: 'check the path and the rights on the folders above it',
    });
  });

  it('says what is wrong with a file that is no database', async () => {
    const file = join(folder, 'text.db');
    writeFileSync(file, 'this is a text, and no database');
    await expect(openHistory(`sqlite:${file}`, env)).rejects.toMatchObject({
      message: `the history database ${file} cannot be opened: file is not a database`,
      hint: 'check the path: the file is no SQLite database, or it is encrypted',
    });
  });

  it('refuses tables of a newer version', async () => {
    const url = fresh();
    await (await openHistory(url, env)).close();
    const db = openSqlite(url, { mode: 'rw', cwd: folder });
    db.exec(`INSERT INTO svc_serve_migrations VALUES (99, 'later', 'now')`);
    db.close();
    await expect(openHistory(url, env)).rejects.toThrow('newer version (99');
  });

  it('lets builds use the tables that do not know what was only added', async () => {
    const url = fresh();
    const history = await openHistory(url, env);
    await history.admit(aRun('a', { priority: 'high' }), {});
    await history.close();
    const db = openSqlite(url, { mode: 'rw', cwd: folder });
    const released = MIGRATIONS.filter(({ isAddition }) => isAddition !== true);
    expect(released.length).toBeLessThan(MIGRATIONS.length);
    migrate(db, released, new Date(0));
    db.close();
    const again = await openHistory(url, env);
    expect((await again.getRun('a'))?.priority).toBe('high');
    await again.close();
  });

  it('leaves nothing of the documents of deleted and purged runs in its file', async () => {
    const url = fresh();
    const history = await openHistory(url, env);
    const secret = 'canary-in-a-document';
    const text = (n: number): string => `${secret} ${n} ${'x'.repeat((n % 10) * 700)}`;
    const runs = Array.from({ length: 40 }, (_, n) => aRun(`run-${n}`));
    for (const [n, run] of runs.entries()) {
      const document = { hash: `h${n % 5}`, content: text(n % 5) };
      const submission = n % 2 === 0 ? { content: text(n) } : { content: '{}', document };
      await history.admit(run, { submission });
      const { run_id, owner, attempt } = run;
      const ending = { status: 'completed', finished_at: '2026', records_written: 0, error: null };
      await history.finishRun({ run_id, owner, attempt }, { ...ending, invocations: [] } as never);
    }
    for (const { run_id } of runs.slice(0, 20)) await history.deleteRun(run_id);
    await history.purge({ runsBefore: '2027' });
    await history.close();
    expect(readFileSync(join(folder, url.replace('sqlite:', ''))).includes(secret)).toBe(false);
  });

  it('keeps audit entries and log lines of older tables', async () => {
    const url = fresh();
    const old = openDatabase(url, folder);
    migrate(old, MIGRATIONS.slice(0, 4), new Date(0));
    const at = (second: number): string => new Date(second * 1000).toISOString();
    for (const second of [1, 3, 2]) {
      old
        .prepare(
          `INSERT INTO svc_serve_audit VALUES (?, ?, 'ann', 'admin', 'run.submit', 'ok', 'r1', 'f', NULL)`,
        )
        .run(`a${second}`, at(second));
      old
        .prepare(`INSERT INTO svc_serve_run_logs VALUES ('r1', ?, ?, 'INFO', ?, 0)`)
        .run(second, at(second), `line ${second}`);
    }
    old.close();
    const history = await openHistory(url, env);
    const entry = {
      principal: 'ann',
      role: 'admin',
      action: 'run.submit',
      result: 'ok',
      run_id: 'r1',
      config_fingerprint: 'f',
    };
    expect(await history.listAudit({ limit: 10 })).toEqual(
      [3, 2, 1].map((second) => ({ id: `a${second}`, timestamp: at(second), ...entry })),
    );
    const { lines } = await history.readLog('r1', { after: 1, limit: 10 });
    expect(lines.map(({ line }) => line)).toEqual(['line 2', 'line 3']);
    expect(await history.purge({ auditBefore: at(3), logsBefore: at(2) })).toMatchObject({
      audit: 2,
      logs: 1,
    });
    await history.close();
  });

  it('answers a ping only while it can be written', async () => {
    const url = fresh();
    const history = await openHistory(url, env);
    await history.ping();
    const holder = openSqlite(url, { mode: 'rw', cwd: folder });
    holder.exec('BEGIN IMMEDIATE');
    await expect(history.ping()).rejects.toMatchObject({ code: 'history_unavailable' });
    expect(await history.getRun('r1')).toBeUndefined();
    holder.exec('ROLLBACK');
    await history.ping();
    holder.close();
    await history.close();
  });

  it('waits for a database that another process is setting up', async () => {
    const url = fresh();
    const holder = openDatabase(url, folder);
    holder.exec('BEGIN EXCLUSIVE');
    const impatient = {
      ...env,
      clock: { ...env.clock, sleep: async () => holder.exec('ROLLBACK') },
    };
    const history = await openHistory(url, impatient);
    await history.ping();
    holder.close();
    await history.close();
  });
});

describe('group commit', () => {
  it('takes back only the write that failed', async () => {
    const db = openDatabase(fresh(), folder);
    db.exec('CREATE TABLE t (id INTEGER PRIMARY KEY)');
    const client = new SqliteClient(db);
    const twice = client.write(() => client.run('INSERT INTO t VALUES (1), (1)'));
    const half = client.write(() => {
      client.run('INSERT INTO t VALUES (2)');
      throw new Error('changed its mind');
    });
    const good = client.write(() => client.run('INSERT INTO t VALUES (3)'));
    const settled = await Promise.allSettled([twice, half, good]);
    expect(settled.map((one) => one.status)).toEqual(['rejected', 'rejected', 'fulfilled']);
    expect((await client.read('SELECT id FROM t')).map((row) => row['id'])).toEqual([3]);
    await client.close();
  });

  /** A database with a table, whose lock another connection holds. */
  function locked() {
    const url = fresh();
    const holder = openDatabase(url, folder);
    holder.exec('CREATE TABLE t (id INTEGER PRIMARY KEY)');
    holder.exec('BEGIN EXCLUSIVE');
    const client = new SqliteClient(openDatabase(url, folder));
    const insert = (id: number) => () => client.run('INSERT INTO t VALUES (?)', id);
    return { client, insert, holder, release: () => holder.exec('ROLLBACK') };
  }

  it('keeps writes in their order until another process gives the lock back', async () => {
    const { client, insert, holder, release } = locked();
    const order: number[] = [];
    const writes = [
      client.write(insert(1)).then(() => order.push(1)),
      client.writeAtOnce(insert(2)).then(() => order.push(2)),
      client.writeDeferred(insert(3)).then(() => order.push(3)),
      client.write(() => client.run('UPDATE t SET id = id + 10')).then(() => order.push(4)),
    ];
    expect(await client.read('SELECT * FROM t')).toEqual([]);
    expect(order).toEqual([]);
    release();
    await Promise.all(writes);
    expect(order.toSorted((a, b) => a - b)).toEqual([1, 2, 3, 4]);
    expect((await client.read('SELECT id FROM t')).map((row) => row['id'])).toEqual([11, 12, 13]);
    await client.close();
    holder.close();
  });

  it('rejects a write whose time is over while the lock is held, and no other one', async () => {
    const { client, insert, holder, release } = locked();
    const patient = client.write(insert(2));
    await expect(client.write(insert(1), { lockWaitMs: 5 })).rejects.toMatchObject({
      code: 'history_unavailable',
      message: 'the history database is locked by another process',
    });
    release();
    await expect(patient).resolves.toBe(1);
    expect((await client.read('SELECT id FROM t')).map((row) => row['id'])).toEqual([2]);
    await client.close();
    holder.close();
  });

  it('keeps writes back while the log is brought into the database', async () => {
    const held = Promise.withResolvers<void>();
    const log = {
      sync: () => Promise.resolve(),
      committed: (hold: (until: Promise<void>) => void) => hold(held.promise),
      close: () => Promise.resolve(),
    };
    const db = openDatabase(fresh(), folder);
    const client = new SqliteClient(db, { log });
    await client.write(() => client.run('CREATE TABLE t (id INTEGER PRIMARY KEY)'));
    const order: string[] = [];
    const writes = [
      client.writeAtOnce(() => client.run('INSERT INTO t VALUES (1)')),
      client.write(() => client.run('INSERT INTO t VALUES (2)')),
    ].map((written) => written.then(() => order.push('written')));
    expect(await client.read('SELECT * FROM t')).toEqual([]);
    order.push('released');
    held.resolve();
    await Promise.all(writes);
    expect(order).toEqual(['released', 'written', 'written']);
    await client.close();
  });

  it('leaves the event loop to others while the lock is held', async () => {
    const { client, insert, holder, release } = locked();
    const written = client.write(insert(1));
    // Were the lock waited for on the event loop, nothing could release it.
    for (let turn = 0; turn < 50; turn += 1) await setImmediate();
    release();
    await expect(written).resolves.toBe(1);
    await client.close();
    holder.close();
  });

  it('commits what is waiting when it is closed', async () => {
    const url = fresh();
    const client = new SqliteClient(openDatabase(url, folder));
    const written = client.write(() => client.run('CREATE TABLE t (id INTEGER)'));
    const closed = client.close();
    await expect(client.write(() => 1)).rejects.toThrow('closed');
    await closed;
    await expect(written).resolves.toBeDefined();
    const db = openSqlite(url, { mode: 'ro', cwd: folder });
    expect(db.prepare('SELECT count(*) AS n FROM t').get()).toEqual({ n: 0 });
    db.close();
  });
});

describe('the disk of a history', () => {
  /** Answers when the test says so. */
  function slowDisk(): {
    readonly log: WriteAheadLog;
    readonly answer: ((error?: Error) => void)[];
  } {
    const answer: ((error?: Error) => void)[] = [];
    const sync = (): Promise<void> =>
      new Promise((resolve, reject) =>
        answer.push((error) => (error === undefined ? resolve() : reject(error))),
      );
    return { log: { sync, committed: () => {}, close: () => Promise.resolve() }, answer };
  }

  function clientOn(log: WriteAheadLog) {
    const db = openDatabase(fresh(), folder);
    db.exec('CREATE TABLE t (id INTEGER PRIMARY KEY)');
    const told: string[] = [];
    const note = (name: string, what: Promise<unknown>): void =>
      void what.then(
        () => told.push(name),
        () => told.push(`${name} failed`),
      );
    return { client: new SqliteClient(db, { log }), told, note };
  }

  it('is waited for by a write, and by a read of what it does not have yet', async () => {
    const { log, answer } = slowDisk();
    const { client, told, note } = clientOn(log);
    note(
      'one',
      client.write(() => client.run('INSERT INTO t VALUES (1)')),
    );
    await eventually(() => expect(answer).toHaveLength(1));
    note('read', client.read('SELECT * FROM t'));
    expect(await client.readAtOnce('SELECT * FROM t')).toEqual([{ id: 1 }]);
    note(
      'two',
      client.write(() => client.run('INSERT INTO t VALUES (2)')),
    );
    await setImmediate();
    expect(told).toEqual([]);
    answer[0]?.();
    await eventually(() => expect(answer).toHaveLength(2));
    expect(told).toEqual(['one', 'read']);
    answer[1]?.();
    await client.close();
    expect(told).toEqual(['one', 'read', 'two']);
  });

  it('is not waited for by a write that is done at once, after those before it', async () => {
    const { log, answer } = slowDisk();
    const { client, told, note } = clientOn(log);
    note(
      'one',
      client.write(() => client.run('INSERT INTO t VALUES (1)')),
    );
    expect(await client.writeAtOnce(() => client.run('UPDATE t SET id = 2 WHERE id = 1'))).toBe(1);
    expect(told).toEqual([]);
    answer[0]?.();
    await client.close();
    expect(told).toEqual(['one']);
  });

  it('is not asked to take by itself what goes with the next write, which is confirmed with it and not before', async () => {
    const { log, answer } = slowDisk();
    const { client, told, note } = clientOn(log);
    note(
      'in passing',
      client.writeDeferred(() => client.run('INSERT INTO t VALUES (1)')),
    );
    await client.writeAtOnce(() => client.run('INSERT INTO t VALUES (2)'));
    expect(answer).toHaveLength(0);
    note(
      'write',
      client.write(() => client.run('UPDATE t SET id = 3 WHERE id = 1')),
    );
    await eventually(() => expect(answer).toHaveLength(1));
    expect(told).toEqual([]);
    answer[0]?.();
    await client.close();
    expect(told).toEqual(['in passing', 'write']);
    expect(answer).toHaveLength(1);
  });

  it('gets what goes with the next write also when there is none, or somebody reads', async () => {
    const { log, answer } = slowDisk();
    const { client, told, note } = clientOn(log);
    note(
      'one',
      client.writeDeferred(() => client.run('INSERT INTO t VALUES (1)')),
    );
    await eventually(() => expect(answer).toHaveLength(1));
    answer[0]?.();
    await eventually(() => expect(told).toHaveLength(1));
    note(
      'two',
      client.writeDeferred(() => client.run('INSERT INTO t VALUES (2)')),
    );
    const read = client.read('SELECT id FROM t');
    expect(answer).toHaveLength(2);
    note(
      'three',
      client.writeDeferred(() => client.run('INSERT INTO t VALUES (3)')),
    );
    answer[1]?.();
    expect((await read).map((row) => row['id'])).toEqual([1, 2]);
    const closed = client.close();
    await eventually(() => expect(answer).toHaveLength(3));
    answer[2]?.();
    await closed;
    expect(told).toEqual(['one', 'two', 'three']);
  });

  it('is asked for nothing more once it refused something', async () => {
    const { log, answer } = slowDisk();
    const { client, told, note } = clientOn(log);
    note(
      'one',
      client.write(() => client.run('INSERT INTO t VALUES (1)')),
    );
    await eventually(() => expect(answer).toHaveLength(1));
    note(
      'two',
      client.write(() => client.run('INSERT INTO t VALUES (2)')),
    );
    answer[0]?.(new Error('EIO: i/o error'));
    await expect(client.read('SELECT * FROM t')).rejects.toThrow(
      'the history database failed: EIO: i/o error',
    );
    await expect(client.writeAtOnce(() => 1)).rejects.toThrow('EIO');
    await client.close();
    expect(told).toEqual(['one failed', 'two failed']);
    expect(answer).toHaveLength(1);
  });

  it('has what was written once that is confirmed, while the history goes on', async () => {
    const url = fresh();
    const db = openDatabase(url, folder);
    const client = new SqliteClient(db);
    await client.write(() => client.run('CREATE TABLE t (id INTEGER PRIMARY KEY)'));
    expect(db.prepare('PRAGMA synchronous').get()).toEqual({ synchronous: 1 });
    const other = openDatabase(url, folder);
    expect(other.prepare('SELECT count(*) AS n FROM t').get()).toEqual({ n: 0 });
    other.close();
    await client.close();
  });

  it('is left to SQLite where there is no write-ahead log', async () => {
    const db = openDatabase('sqlite::memory:', folder);
    const client = new SqliteClient(db);
    await client.write(() => client.run('CREATE TABLE t (id INTEGER PRIMARY KEY)'));
    expect(db.prepare('PRAGMA synchronous').get()).toEqual({ synchronous: 2 });
    await client.close();
  });
});

describe('memory history', () => {
  it('forgets the oldest finished runs beyond its bound, never an unfinished one', async () => {
    const history = new MemoryHistory({ finishedRuns: 2 });
    await history.admit(aRun('live'), {});
    for (const id of ['a', 'b', 'c']) {
      await history.admit(aRun(id), {});
      await history.finishRun(
        { run_id: id, owner: 'one', attempt: 0 },
        {
          status: 'completed',
          finished_at: '2026-08-01T00:00:00.000Z',
          records_written: 0,
          invocations: [],
          error: null,
        },
      );
    }
    expect((await history.listRuns({ limit: 10 })).runs.map((run) => run.run_id)).toEqual([
      'live',
      'c',
      'b',
    ]);
  });

  it('keeps the newest audit entries', async () => {
    const history = new MemoryHistory({ auditEntries: 10 });
    for (let n = 0; n < 25; n += 1) {
      const id = String(n).padStart(3, '0');
      await history.recordAudit({
        id,
        timestamp: '2026-08-01T00:00:00.000Z',
        principal: 'p',
        role: 'r',
        action: 'a',
        result: 'ok',
      });
    }
    const kept = await history.listAudit({ limit: 1000 });
    expect(kept[0]?.id).toBe('024');
    expect(kept.length).toBeLessThanOrEqual(11);
  });
});
