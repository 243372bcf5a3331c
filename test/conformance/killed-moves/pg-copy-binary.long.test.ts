/**
 * A move of rows as PostgreSQL encodes them, killed at any moment inside a page, goes on where it
 * stood: however often that happens, each row is there once, because its key makes repeats harmless.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { freshDatabase } from '../../servers/postgres.ts';

const LAUNCHER = join(import.meta.dirname, '../../../bin/headgate.js');
const ROWS = 260_000;
const KILLS = 3;

let database: Awaited<ReturnType<typeof freshDatabase>>;
let client: Client;
let folder: string;
beforeAll(async () => {
  database = await freshDatabase();
  client = new Client({ connectionString: database.url });
  await client.connect();
  folder = await mkdtemp(join(tmpdir(), 'headgate-killed-'));
  // Values of the column come several at a time, and one of them more often than there are rows in
  // a page or between bookmarks.
  await client.query(`
    CREATE TABLE origin (id int, grp int, at timestamptz, t text);
    INSERT INTO origin SELECT i, CASE WHEN i BETWEEN 100000 AND 170000 THEN 14285 ELSE i / 7 END,
      timestamptz '2024-01-01' + i * interval '1.000001 s', repeat('x', i % 90) FROM generate_series(1, ${ROWS}) AS i;
    CREATE INDEX ON origin (grp); CREATE INDEX ON origin (at)`);
});
afterAll(async () => {
  await client.end();
  await database.drop();
  await rm(folder, { recursive: true });
});

interface Move {
  /** What it said went wrong; empty when nothing did. */
  readonly ended: Promise<string>;
  kill(): void;
  over(): boolean;
}

async function start(document: string): Promise<Move> {
  const path = join(folder, 'move.yaml');
  await writeFile(path, document);
  const child = spawn(process.execPath, [LAUNCHER, 'run', path], {
    cwd: folder,
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let said = '';
  child.stderr.on('data', (text: Buffer) => (said += text.toString()));
  const ended = once(child, 'close').then(([code]) =>
    code === 0 ? '' : `ended with ${String(code)}: ${said}`,
  );
  return { ended, kill: () => void child.kill('SIGKILL'), over: () => child.exitCode !== null };
}

/** Rows that are in the table so far. */
async function taken(table: string): Promise<number> {
  const { rows } = await client.query<{ n: string }>(`SELECT count(*) AS n FROM ${table}`);
  return Number(rows[0]?.n);
}

test.each([
  ['as they stand, by a column with equal values', 'grp', ''],
  ['as they stand, by a column without', 'at', ''],
  [
    'as records, by a column with equal values',
    'grp',
    '  transforms: [{ type: value_case, config: { fields: [t], mode: upper } }]\n',
  ],
])(
  'rows that travel %s',
  async (_how, column, transforms) => {
    const table = `copy_${column}_${transforms.length}`;
    await client.query(`CREATE TABLE ${table} (LIKE origin, PRIMARY KEY (id))`);
    const initial = column === 'at' ? "'2000-01-01T00:00:00Z'" : '0';
    const document = `version: 1
name: ${table}
delivery: exactly_once
pipeline:
  source: { type: postgres, config: { connection_url: '${database.url}', query: 'SELECT * FROM origin', batch_size: 5000,
    replication: { type: incremental, column: ${column}, initial_value: ${initial} } } }
  sink: { type: postgres, config: { connection_url: '${database.url}', table_name: ${table}, column_mapping: auto_map,
    write_mode: upsert, key: [id] } }
  state: { type: file, config: { path: ${join(folder, table)} } }
${transforms}`;
    for (let kills = 0; kills < KILLS; kills += 1) {
      const move = await start(document);
      const point = (await taken(table)) + Math.floor(Math.random() * 60_000);
      while (!move.over() && (await taken(table)) <= point);
      move.kill();
      await move.ended;
    }
    expect(await (await start(document)).ended).toBe('');
    const { rows } = await client.query(
      `SELECT (SELECT count(*)::int FROM ${table}) AS n,
         (SELECT count(*)::int FROM (SELECT id, grp, at, upper(t) FROM ${table} EXCEPT ALL SELECT id, grp, at, upper(t) FROM origin) AS x) AS more`,
    );
    expect(rows).toEqual([{ n: ROWS, more: 0 }]);
  },
  120_000,
);
