/** `headgate replicate` as a user runs it: a table of PostgreSQL is copied, and stays a copy. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  PUBLICATION,
  ReplicatedTable,
  SLOT,
  TABLE,
} from '../conformance/fixtures/replicated-table.ts';
import { launcherPath } from '../servers/bundle.ts';
import { eventually } from '../support/eventually.ts';
import { headgate } from './headgate.ts';

const LAUNCHER = await launcherPath();
const LONG = { timeout: 120_000 };

let server: ReplicatedTable;
let folder: string;
beforeAll(async () => {
  server = await ReplicatedTable.start();
  folder = mkdtempSync(join(tmpdir(), 'headgate-replicate-'));
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true });
});

/** No table for the copy: the snapshot makes it. */
async function prepare(name: string): Promise<string> {
  await server.renew('id int PRIMARY KEY, name text, price numeric(8, 2)');
  await server.dropSlots();
  await server.client.query(`DROP TABLE IF EXISTS copied, _svc_commit_token;
    INSERT INTO ${TABLE} SELECT i, 'n' || i, i + 0.5 FROM generate_series(1, 30) AS i`);
  const file = `${name}.yaml`;
  writeFileSync(
    join(folder, file),
    `version: 1
name: ${name}
delivery: exactly_once
replication:
  snapshot:
    source: { type: postgres, config: { connection_url: '\${env:SHOP}', query: 'SELECT * FROM ${TABLE}' } }
pipeline:
  source:
    type: postgres-cdc
    config: { connection_url: '\${env:SHOP}', slot_name: ${SLOT}, publication_name: ${PUBLICATION}, idle_timeout: 0.6 }
  transforms: [{ type: cdc_unwrap, config: { key: [id] } }]
  sink:
    type: postgres
    config:
      connection_url: '\${env:SHOP}'
      table_name: copied
      column_mapping: auto_map
      create_table: true
      write_mode: upsert
      key: [id]
      delete_marker: { field: __op, values: [d] }
  state: { type: file, config: { path: state } }
`,
  );
  return file;
}

async function difference(): Promise<unknown[]> {
  const { rows } = await server.client.query<Record<string, unknown>>(
    `(SELECT id, name, price::numeric FROM ${TABLE} EXCEPT ALL SELECT id, name, price::numeric FROM copied)
     UNION ALL (SELECT id, name, price::numeric FROM copied EXCEPT ALL SELECT id, name, price::numeric FROM ${TABLE})`,
  );
  return rows;
}

const variables = (): Record<string, string> => ({ SHOP: server.url });

test('is checked and explained with both of its sources', LONG, async () => {
  const file = await prepare('looked-at');
  const options = { cwd: folder, variables: variables() };
  const doctor = await headgate(['doctor', file, '--json'], options);
  const { invocations } = JSON.parse(doctor.stdout) as {
    invocations: { probes: { role: string; connector: string; status: string }[] }[];
  };
  const sources = invocations.flatMap(({ probes }) =>
    probes.filter(({ role }) => role === 'source'),
  );
  expect(new Set(sources.map(({ connector }) => connector))).toEqual(
    new Set(['postgres-cdc', 'postgres']),
  );
  expect(sources.filter(({ status }) => status === 'fail')).toEqual([]);
  const explained = await headgate(['explain', file, '--json'], options);
  expect(JSON.parse(explained.stdout)).toMatchObject({
    replication: {
      mode: 'snapshot_then_cdc',
      snapshot: { source: 'postgres' },
      continuous: true,
    },
  });
});

test('once: what is there, then what has changed', LONG, async () => {
  const file = await prepare('once');
  const args = ['replicate', file, '--once', '--json'];
  const first = await headgate(args, { cwd: folder, variables: variables() });
  expect(first.code, first.stderr).toBe(0);
  expect(JSON.parse(first.stdout)).toMatchObject({
    pipeline: 'once',
    status: 'completed',
    phase: 'stream',
    position: { last_lsn: expect.any(String) as string },
    snapshot: { totals: { rows_out: 30 } },
    stream: { runs: 1, records_written: 0 },
  });
  expect(await difference()).toEqual([]);
  const { rows: columns } = await server.client.query<{ name: string }>(
    `SELECT attname AS name FROM pg_attribute WHERE attrelid = 'copied'::regclass AND attnum > 0 ORDER BY attnum`,
  );
  expect(columns.map(({ name }) => name)).toEqual(['id', 'name', 'price']);
  await server.client.query(`UPDATE ${TABLE} SET name = 'x' WHERE id < 4`);
  await server.client.query(`DELETE FROM ${TABLE} WHERE id = 5`);
  await server.client.query(`UPDATE ${TABLE} SET id = 31 WHERE id = 6`);
  const second = await headgate(args, { cwd: folder, variables: variables() });
  expect(JSON.parse(second.stdout)).toMatchObject({
    snapshot: null,
    stream: { runs: 1, records_written: 6 },
  });
  expect(await difference()).toEqual([]);
  expect(`${first.stderr}${first.stdout}`).not.toContain(server.url);
});

test('again from the beginning where the slot is gone', LONG, async () => {
  const file = await prepare('again');
  const args = ['replicate', file, '--once'];
  expect((await headgate(args, { cwd: folder, variables: variables() })).code).toBe(0);
  await server.dropSlots();
  await server.client.query(`UPDATE ${TABLE} SET name = 'unseen' WHERE id = 1`);
  const refused = await headgate(args, { cwd: folder, variables: variables() });
  expect(refused.code).toBe(1);
  expect(refused.stderr).toContain(`the slot \`${SLOT}\` is gone`);
  expect(refused.stderr).toContain('--restart');
  const again = await headgate([...args, '--restart'], { cwd: folder, variables: variables() });
  expect(again.code, again.stderr).toBe(0);
  expect(again.stderr).toContain('30 records of the snapshot written');
  expect(await difference()).toEqual([]);
});

test('until it is stopped', LONG, async () => {
  const file = await prepare('running');
  const child = spawn(process.execPath, [LAUNCHER, 'replicate', file], {
    cwd: folder,
    env: { PATH: process.env['PATH'], HOME: process.env['HOME'], NO_COLOR: '1', ...variables() },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let said = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (said += text));
  const closed = once(child, 'close');
  await eventually(() => {
    if (!said.includes('stream begins')) throw new Error(said);
    return Promise.resolve();
  });
  for (const id of [100, 200]) {
    await server.client.query(`INSERT INTO ${TABLE} VALUES (${id}, 'late', 1)`);
    await eventually(async () => expect(await difference()).toEqual([]));
  }
  const other = await headgate(['replicate', file], { cwd: folder, variables: variables() });
  expect(other.stderr).toContain('two at once');
  child.kill('SIGTERM');
  expect((await closed)[0]).toBe(143);
  expect(said).toContain('running replication cancelled: 30 records of the snapshot written');
});

test('without the block there is nothing to replicate', LONG, async () => {
  const pipeline =
    'pipeline: { source: { type: csv, config: { path: a } }, sink: { type: stdout } }';
  writeFileSync(join(folder, 'plain.yaml'), `version: 1\n${pipeline}\n`);
  const refused = await headgate(['replicate', 'plain.yaml'], { cwd: folder });
  expect(refused.code).toBe(1);
  expect(refused.stderr).toContain('the document has no `replication`');
});
