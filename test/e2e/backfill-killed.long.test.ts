/**
 * A backfill that is killed and resumed, however often, leaves the table as one that was not; the
 * ordinary runs go on where they were.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  watch,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { afterAll, describe, expect, test } from 'vitest';
import { freshDatabase } from '../servers/postgres.ts';
import { headgate } from './headgate.ts';
import { launcherPath } from '../servers/bundle.ts';

const LAUNCHER = await launcherPath();
const DAYS = 4;
const ROWS = 6000;
/** Changes of the state store that a process lives to see. */
const SIGNS = [0, 1, 3, 4, 6, 9, 12];

const folder = mkdtempSync(join(tmpdir(), 'headgate-backfill-killed-'));
const database = await freshDatabase();
const client = new Client({ connectionString: database.url });
await client.connect();
await client.query(
  `CREATE TABLE origin AS SELECT i AS id, i / 3 AS at, date '2026-01-01' + i % ${DAYS} AS day, 'n' || i AS name FROM generate_series(1, ${ROWS}) AS i`,
);
afterAll(async () => {
  await client.end();
  await database.drop();
  rmSync(folder, { recursive: true });
});

const WHERE = "day >= '${backfill.start_date}' AND day < '${backfill.end_date}'";
const SINKS: Readonly<Record<string, object>> = {
  upserts: { write_mode: 'upsert', key: ['id'] },
  'replaced windows': {
    write_mode: 'overwrite',
    scope: {
      window: { column: 'day', from: '${backfill.start_date}', to: '${backfill.end_date}' },
    },
  },
};

test('of files that each window replaces comes to the same end', { timeout: 240_000 }, async () => {
  const place = join(folder, 'files');
  const state = join(place, 'state');
  mkdirSync(state, { recursive: true });
  const source = {
    type: 'postgres',
    config: {
      connection_url: database.url,
      query: `SELECT id, at FROM origin WHERE ${WHERE}`,
      batch_size: 200,
      replication: { type: 'incremental', column: 'at', initial_value: 0 },
    },
  };
  const sink = { type: 'jsonl', config: { path: 'out/${backfill.unit}.jsonl' } };
  const pipeline = { source, sink, state: { type: 'file', config: { path: 'state' } } };
  writeFileSync(join(place, 'files.json'), JSON.stringify({ version: 1, name: 'files', pipeline }));
  const args = [
    'backfill',
    'files.json',
    '--from',
    '2026-01-01',
    '--to',
    `2026-01-0${DAYS + 1}`,
    '--window',
    '1d',
    '--resume',
  ];
  for (const signs of SIGNS) await killedAt(args, { place, state, signs });
  const last = await headgate(args, { cwd: place });
  expect(last.code, last.stderr).toBe(0);
  const ids = readdirSync(join(place, 'out')).flatMap((file) =>
    readFileSync(join(place, 'out', file), 'utf8')
      .trim()
      .split('\n')
      .map((line) => (JSON.parse(line) as { id: number }).id),
  );
  expect(ids.sort((one, other) => one - other)).toEqual(
    Array.from({ length: ROWS }, (_, index) => index + 1),
  );
});

describe.each(Object.entries(SINKS))('of %s', (name, mode) => {
  const table = name.replace(' ', '_');
  const place = join(folder, table);
  const state = join(place, 'state');

  /** With `query` the document of the ordinary runs, which go on after their bookmark. */
  function document(file: string, where: string): string {
    const source = {
      type: 'postgres',
      config: {
        connection_url: database.url,
        query: `SELECT * FROM origin WHERE ${where}`,
        batch_size: 200,
        replication: { type: 'incremental', column: 'at', initial_value: 0 },
      },
    };
    const written = file === 'backfill' ? mode : { write_mode: 'upsert', key: ['id'] };
    const config = {
      connection_url: database.url,
      table_name: table,
      column_mapping: 'auto_map',
      ...written,
    };
    const pipeline = {
      source,
      sink: { type: 'postgres', config },
      state: { type: 'file', config: { path: state } },
    };
    writeFileSync(
      join(place, `${file}.json`),
      JSON.stringify({ version: 1, name: 'orders', pipeline }),
    );
    return `${file}.json`;
  }

  test('comes to the same end', { timeout: 240_000 }, async () => {
    mkdirSync(state, { recursive: true });
    await client.query(`CREATE TABLE ${table} (LIKE origin); CREATE UNIQUE INDEX ON ${table} (id)`);
    expect((await headgate(['run', document('forward', 'id <= 100')], { cwd: place })).code).toBe(
      0,
    );
    await client.query(`UPDATE ${table} SET name = 'old'`);
    const bookmark = (): string => {
      const [file = ''] = readdirSync(state).filter(
        (one) => one.includes('row-0') && !one.includes('backfill'),
      );
      return readFileSync(join(state, file), 'utf8');
    };
    const before = bookmark();

    const range = [
      '--from',
      '2026-01-01',
      '--to',
      `2026-01-0${DAYS + 1}`,
      '--window',
      '1d',
      '--concurrency',
      '2',
      '--resume',
    ];
    const args = ['backfill', document('backfill', WHERE), ...range];
    for (const signs of SIGNS) await killedAt(args, { place, state, signs });
    const last = await headgate([...args, '--json'], { cwd: place });
    expect(last.code, last.stderr).toBe(0);
    expect(JSON.parse(last.stdout)).toMatchObject({ planned: DAYS, failed: 0, pending: 0 });
    const { rows } = await client.query(`SELECT * FROM ${table} EXCEPT ALL SELECT * FROM origin`);
    expect(rows).toEqual([]);
    expect((await client.query(`SELECT count(*)::int AS n FROM ${table}`)).rows).toEqual([
      { n: ROWS },
    ]);
    expect(bookmark()).toBe(before);
    const left = await client.query(
      "SELECT relname FROM pg_class WHERE relkind = 'r' AND relname LIKE '%ovw%'",
    );
    expect(left.rows).toEqual([]);
  });
});

interface Killing {
  readonly place: string;
  readonly state: string;
  readonly signs: number;
}

/** Kills the program at the n-th change of the state store it lets be seen. */
async function killedAt(args: readonly string[], { place, state, signs }: Killing): Promise<void> {
  const child = spawn(process.execPath, [LAUNCHER, ...args], { cwd: place, stdio: 'ignore' });
  const closed = once(child, 'close');
  let seen = 0;
  const watcher = watch(state, () => {
    if (seen === signs) child.kill('SIGKILL');
    seen += 1;
  });
  await closed;
  watcher.close();
}
