/**
 * Commands that write and are no runs of a server, frozen while they do it: what another one has done
 * meanwhile stays as it is when they wake up.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { workshop } from '../e2e/serve-program.ts';
import { headgate, type Finished } from '../e2e/headgate.ts';
import { launcherPath } from '../servers/bundle.ts';
import { freshDatabase } from '../servers/postgres.ts';
import { eventually } from '../support/eventually.ts';

const LAUNCHER = await launcherPath();
/** More than a page of each of them. */
const RECORDS = 3000;
const PAGE = 1000;

const cwd = mkdtempSync(join(tmpdir(), 'headgate-frozen-'));
const database = await freshDatabase();
const client = new Client({ connectionString: database.url });
const begun: ChildProcess[] = [];
const shop = workshop();

beforeAll(async () => {
  await client.connect();
  // Whoever writes waits long enough to be found at it.
  await client.query(
    `CREATE FUNCTION slowly() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(0.3); RETURN NULL; END $$`,
  );
});
afterAll(async () => {
  for (const child of begun) child.kill('SIGKILL');
  await shop.dispose();
  await client.end();
  await database.drop();
  rmSync(cwd, { recursive: true });
});

async function table(name: string, columns: string): Promise<void> {
  await client.query(`CREATE TABLE ${name} (${columns});
    CREATE TRIGGER slow AFTER INSERT OR UPDATE OR DELETE ON ${name} FOR EACH STATEMENT EXECUTE FUNCTION slowly()`);
}

async function numberIn(sql: string): Promise<number> {
  const { rows } = await client.query<{ n: string }>(sql);
  return Number(rows[0]?.n);
}

const sink = (name: string, more: object = {}): object => ({
  type: 'postgres',
  config: {
    connection_url: database.url,
    table_name: name,
    column_mapping: 'auto_map',
    ...more,
  },
});
const state = {
  type: 'postgres',
  config: { url: database.url, table: 'state', ensure_table: true },
};

function document(name: string, parts: object): void {
  writeFileSync(join(cwd, `${name}.json`), JSON.stringify({ version: 1, name, ...parts }));
}

interface Frozen {
  /** It wakes up, and comes to its end. */
  wake(): Promise<Finished>;
}

/** The command, frozen while the database executes what it writes to the table. */
async function frozen(args: readonly string[], written: string): Promise<Frozen> {
  const child = spawn(process.execPath, [LAUNCHER, ...args], {
    cwd,
    env: { PATH: process.env['PATH'], HOME: process.env['HOME'], NO_COLOR: '1' },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  begun.push(child);
  const texts = { stdout: '', stderr: '' };
  child.stdout.setEncoding('utf8').on('data', (text: string) => (texts.stdout += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (texts.stderr += text));
  const closed = once(child, 'close') as Promise<[number | null]>;
  const sleeping = `SELECT count(*) AS n FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'PgSleep' AND query LIKE '%${written}%'`;
  await eventually(async () => expect(await numberIn(sleeping), texts.stderr).toBe(1));
  child.kill('SIGSTOP');
  // What it had asked for comes to its end by itself.
  await eventually(async () => expect(await numberIn(sleeping)).toBe(0));
  return {
    wake: async () => {
      child.kill('SIGCONT');
      const [code] = await closed;
      return { code, ...texts };
    },
  };
}

/** Begins the command; it has ended, or waits for what the frozen one has locked, when this gives it. */
async function beside(args: readonly string[]): Promise<Promise<Finished>[]> {
  let hasEnded = false;
  const done = headgate(args, { cwd }).finally(() => (hasEnded = true));
  const locked =
    "SELECT count(*) AS n FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'";
  await eventually(async () => expect(hasEnded || (await numberIn(locked)) > 0).toBe(true));
  return [done];
}

/** As if the holder had been frozen for a minute. */
async function leasesEnd(): Promise<void> {
  await client.query(
    "UPDATE state SET updated_at = updated_at - interval '1 minute' WHERE key LIKE '.lease:%'",
  );
}

test('dead letters', { timeout: 120_000 }, async () => {
  await table('replayed', 'id int');
  const letters = Array.from({ length: RECORDS }, (_, id) => JSON.stringify({ payload: { id } }));
  writeFileSync(join(cwd, 'dead.jsonl'), letters.map((line) => `${line}\n`).join(''));
  const source = { type: 'csv', config: { path: 'none.csv' } };
  document('replay', { pipeline: { source, sink: sink('replayed'), state } });
  const replay = ['dlq', 'replay', 'replay.json', '--from', 'dead.jsonl'];
  const first = await frozen(replay, 'replayed');
  const second = await headgate(replay, { cwd });
  expect(second).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('state_held') as string,
  });
  expect(second.stderr).toMatch(/being replayed by run `.+`.*: two at once would write/);
  await leasesEnd();
  expect(await headgate(replay, { cwd })).toMatchObject({ code: 0 });
  expect(await numberIn('SELECT count(*) AS n FROM replayed')).toBe(RECORDS);
  const woken = await first.wake();
  expect(woken.stderr).toContain('state_lease_lost');
  expect(woken.code).toBe(1);
  // The transaction in which it was frozen came to its end.
  expect(await numberIn('SELECT count(*) AS n FROM replayed')).toBe(RECORDS + PAGE);
});

test('dead letters of a row without a state', { timeout: 120_000 }, async () => {
  await table('stateless', 'id int');
  const letters = Array.from({ length: RECORDS }, (_, id) => JSON.stringify({ payload: { id } }));
  writeFileSync(join(cwd, 'stateless.jsonl'), letters.map((line) => `${line}\n`).join(''));
  const source = { type: 'csv', config: { path: 'none.csv' } };
  document('stateless', { pipeline: { source, sink: sink('stateless') } });
  const replay = ['dlq', 'replay', 'stateless.json', '--from', 'stateless.jsonl'];
  const first = await frozen(replay, 'stateless');
  const server = await shop.start({ cwd });
  const config = readFileSync(join(cwd, 'stateless.json'), 'utf8');
  const body = { config, config_format: 'json', from: 'stateless.jsonl' };
  const answer = await server.call('POST', '/v1/dlq/replay', body);
  expect(answer.status, answer.text).toBe(409);
  expect(answer.text).toMatch(/being replayed by another process: two at once would write/);
  expect(await headgate(replay, { cwd })).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('state_held') as string,
  });
  expect((await first.wake()).code).toBe(0);
  expect(await numberIn('SELECT count(*) AS n FROM stateless')).toBe(RECORDS);
  // Afterwards it may be replayed again, by intention.
  expect((await server.call('POST', '/v1/dlq/replay', body)).status).toBe(200);
});

/** Records that change after the frozen command has read them. */
async function origin(name: string): Promise<void> {
  await client.query(
    `CREATE TABLE ${name} AS SELECT i AS id, 'old' AS v, date '2026-01-01' AS day FROM generate_series(1, ${RECORDS}) AS i`,
  );
}

const numberOld = (name: string): Promise<number> =>
  numberIn(`SELECT count(*) AS n FROM ${name} WHERE v = 'old'`);

test('a repair', { timeout: 120_000 }, async () => {
  await table('repaired', 'id int PRIMARY KEY, v text, day date');
  await origin('repaired_from');
  const config = { connection_url: database.url, query: 'SELECT * FROM repaired_from' };
  const into = sink('repaired', { write_mode: 'upsert', key: ['id'] });
  document('repair', { pipeline: { source: { type: 'postgres', config }, sink: into, state } });
  const first = await frozen(['verify', 'repair.json', '--repair'], 'repaired');
  await leasesEnd();
  await client.query("UPDATE repaired_from SET v = 'new'");
  const [run] = await beside(['verify', 'repair.json', '--repair']);
  const woken = await first.wake();
  expect((await run)?.stderr).not.toContain('error:');
  expect(woken.stderr).toContain('state_lease_lost');
  expect(await numberOld('repaired')).toBe(0);
});

test('a backfill', { timeout: 120_000 }, async () => {
  await table('filled', 'id int PRIMARY KEY, v text, day date');
  await origin('filled_from');
  const query = "SELECT * FROM filled_from WHERE day = '${backfill.start_date}'";
  const config = { connection_url: database.url, query, batch_size: 1000 };
  const into = sink('filled', { write_mode: 'upsert', key: ['id'] });
  document('fill', { pipeline: { source: { type: 'postgres', config }, sink: into, state } });
  const range = ['--from', '2026-01-01', '--to', '2026-01-02', '--window', '1d', '--resume'];
  const fill = ['backfill', 'fill.json', ...range];
  const first = await frozen(fill, 'filled');
  await leasesEnd();
  await client.query("UPDATE filled_from SET v = 'new'");
  const [second] = await beside(fill);
  const woken = await first.wake();
  expect((await second)?.code).toBe(0);
  expect(woken.stdout + woken.stderr).toMatch(/taken over/);
  expect(await numberOld('filled')).toBe(0);
});

test('a rollback', { timeout: 120_000 }, async () => {
  await table('undone', 'id int, v text, day date, _svc_run_id text');
  await origin('undone_from');
  const replication = { type: 'incremental', column: 'id', initial_value: 0 };
  const config = {
    connection_url: database.url,
    query: 'SELECT * FROM undone_from',
    replication,
  };
  const source = { type: 'postgres', config };
  document('undo', { rollback: {}, pipeline: { source, sink: sink('undone'), state } });
  const run = async (): Promise<string> => {
    const { stdout, stderr } = await headgate(['run', 'undo.json', '--output', 'json'], { cwd });
    const { rows } = JSON.parse(stdout) as { rows: { invocation_id: string; status: string }[] };
    expect(rows[0]?.status, stderr).toBe('ok');
    return rows[0]?.invocation_id ?? '';
  };
  const undo = (id: string): string[] => ['rollback', 'undo.json', '--run', id];
  const id = await run();
  const first = await frozen(undo(id), 'undone');
  await leasesEnd();
  await client.query("INSERT INTO undone_from VALUES (3001, 'late', '2026-01-01')");
  const [later] = await beside(['run', 'undo.json', '--output', 'json']);
  const woken = await first.wake();
  expect((await later)?.stderr).toContain('pipeline run completed');
  expect(woken).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('state_lease_lost') as string,
  });
  // The run found what the rollback had done, and read all records again.
  expect(await numberIn('SELECT count(*) AS n FROM undone')).toBe(RECORDS + 1);
  expect(await numberOld('undone')).toBe(RECORDS);
});
