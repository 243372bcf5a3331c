import { createServer } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { freshDatabase } from '../../../test/servers/postgres.ts';
import {
  connectPostgres,
  inPostgresTransaction,
  openPostgresPool,
  postgresUrlFault,
  withClient,
} from './postgres.ts';
import { failureOf } from '../../../test/fakes/failure.ts';

/** The server may take a moment on a busy machine. */
const PATIENT = { timeout: 10_000 };

let database: Awaited<ReturnType<typeof freshDatabase>>;
beforeAll(async () => {
  database = await freshDatabase();
});
afterAll(() => database.drop());

function changed(change: (url: URL) => void): string {
  const url = new URL(database.url);
  change(url);
  return url.href;
}

describe('connecting', () => {
  test('failures have a kind and never show the password', async () => {
    const kinds = await Promise.all(
      [
        changed((url) => (url.password = 'wrong-secret')),
        changed((url) => (url.pathname = '/no_such_database')),
        changed((url) => (url.port = '1')),
      ].map(async (url) => {
        const error = await failureOf(connectPostgres({ url }));
        expect(error.message).not.toContain('wrong-secret');
        expect(error.message).not.toContain(new URL(database.url).password);
        return error.kind;
      }),
    );
    expect(kinds).toEqual(['auth', 'missing', 'connection']);
  });

  test('a fired signal ends the wait for a server that does not answer', async () => {
    const silent = createServer();
    await new Promise<void>((done) => silent.listen(0, '127.0.0.1', done));
    const address = silent.address();
    const url = `postgres://u:p@127.0.0.1:${typeof address === 'object' ? address?.port : ''}/d`;
    const stop = new AbortController();
    const reason = new Error('stop');
    silent.once('connection', () => stop.abort(reason));
    await expect(connectPostgres({ url, signal: stop.signal })).rejects.toBe(reason);
    const pool = await openPostgresPool({ url, max: 1 });
    const again = new AbortController();
    silent.once('connection', () => again.abort(reason));
    await expect(
      withClient(pool, { doing: 'testing', signal: again.signal }, async () => 1),
    ).rejects.toBe(reason);
    silent.close();
  });

  test('addresses of other things are refused', () => {
    expect(postgresUrlFault('postgres://h/d')).toBeUndefined();
    expect(postgresUrlFault('postgresql://h/d')).toBeUndefined();
    for (const url of [
      'mysql://h/d',
      'nonsense',
      'postgres:user:secret@h',
      'postgres://h:port/d',
    ]) {
      expect(postgresUrlFault(url)).toContain('not an address of PostgreSQL');
    }
  });
});

describe('a lent connection', () => {
  test('failures of a statement have a kind', async () => {
    const pool = await openPostgresPool({ url: database.url, max: 1 });
    const kindOf = async (sql: string) =>
      (await failureOf(withClient(pool, { doing: 'testing' }, (client) => client.query(sql)))).kind;
    expect(await kindOf('SELECT * FROM none')).toBe('missing');
    expect(await kindOf('SELECT 1/0')).toBe('data');
    expect(await kindOf('SET statement_timeout = 1; SELECT pg_sleep(5)')).toBe('timeout');
    await pool.end();
  });

  test('a fired signal ends the statement on the server and rejects with the reason', async () => {
    const pool = await openPostgresPool({ url: database.url, max: 1 });
    const stop = new AbortController();
    const reason = new Error('stop now');
    const work = withClient(pool, { doing: 'sleeping', signal: stop.signal }, async (client) => {
      const sleeping = client.query('SELECT pg_sleep(60) /* sleeper */');
      stop.abort(reason);
      return sleeping;
    });
    await expect(work).rejects.toBe(reason);
    const watch = await connectPostgres({ url: database.url });
    const running =
      "SELECT count(*)::int AS n FROM pg_stat_activity WHERE query LIKE '%sleeper%' AND state = 'active' AND pid <> pg_backend_pid()";
    await expect
      .poll(async () => (await watch.query<{ n: number }>(running)).rows[0]?.n, PATIENT)
      .toBe(0);
    await watch.end();
    await pool.end();
  });

  test('a failed transaction is rolled back and the connection used again', async () => {
    const pool = await openPostgresPool({ url: database.url, max: 1 });
    const lend = { doing: 'testing' };
    await withClient(pool, lend, (client) => client.query('CREATE TABLE rolled (a int)'));
    const failing = withClient(pool, lend, (client) =>
      inPostgresTransaction(client, async () => {
        await client.query('INSERT INTO rolled VALUES (1)');
        await client.query('SELECT 1/0');
      }),
    );
    expect((await failureOf(failing)).kind).toBe('data');
    const { rows } = await withClient(pool, lend, (client) => client.query('SELECT * FROM rolled'));
    expect(rows).toEqual([]);
    await pool.end();
  });
});
