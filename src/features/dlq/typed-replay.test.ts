/** A replayed record is written as the record would have been: the server compares the tables. */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { load } from '../../../test/fakes/documents.ts';
import { documentOfTree } from '../../document/load.ts';
import type { Plan } from '../../plan/plan.ts';
import { run } from '../../../test/fakes/engine.ts';
import { testEnv } from '../../../test/fakes/env.ts';
import { freshDatabase } from '../../../test/servers/postgres.ts';
import { parts } from '../../parts.ts';
import { planDocument } from '../../plan/plan-document.ts';
import { replay } from './replay.ts';

let database: Awaited<ReturnType<typeof freshDatabase>>;
let client: Client;
let cwd: string;
beforeAll(async () => {
  database = await freshDatabase();
  client = new Client({ connectionString: database.url });
  await client.connect();
});
afterAll(async () => {
  await client.end();
  await database.drop();
});

const COLUMNS = `id int, b bytea, d numeric(12,2), big bigint, f double precision, r real, at timestamptz,
  wall timestamp, day date, clock time, u uuid, j json, jb jsonb, t text, tags text[], bytes bytea[], docs jsonb[]`;

beforeEach(async () => {
  cwd = await mkdtemp(join(tmpdir(), 'headgate-typed-replay-'));
  await client.query(`DROP TABLE IF EXISTS held, back, made; CREATE TABLE held (${COLUMNS}); CREATE TABLE back (${COLUMNS});
    INSERT INTO held VALUES (1, '\\x00ff5c27', 1.10, 9007199254740993, '-0', 'NaN', '2024-05-06 07:08:09.5+02',
      '2024-05-06 07:08:09.000001', '0044-03-15 BC', '24:00:00', '00112233-4455-6677-8899-aabbccddeeff',
      ' {"a":  1.0}', 'null', '{"a": 1}', '{a,"b c",NULL}', ARRAY['\\x00'::bytea], ARRAY['{"a":1}'::jsonb]),
      (2, '\\x6869', -5, 7, 2, 1, 'infinity', '-infinity', 'infinity', '00:00:00', NULL, 'null', '"{}"', 'aGk=', '{}', NULL, NULL),
      (3, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, '1.50', '', NULL, NULL, NULL)`);
  return () => rm(cwd, { recursive: true, force: true });
});

function planOf(table: string, more: object) {
  const connection = { connection_url: database.url };
  const document = {
    version: 1,
    name: 'p',
    pipeline: {
      source: { type: 'postgres', config: { ...connection, query: 'SELECT * FROM held' } },
      sink: {
        type: 'postgres',
        config: { ...connection, table_name: table, column_mapping: 'auto_map' },
      },
      dlq: { sink: { type: 'jsonl', config: { path: 'dead.jsonl' } } },
      ...more,
    },
  };
  return planDocument(load(JSON.stringify(document), { format: 'json' }), parts, { cpus: 1 });
}

const again = (table: string, more: object): Promise<void> => replayed(planOf(table, more));

async function replayed(plan: Plan): Promise<void> {
  const { error } = await replay({
    plan,
    parts,
    env: testEnv({ cwd }),
    signal: new AbortController().signal,
    from: 'dead.jsonl',
    dryRun: false,
    asWritten: false,
    keys: [],
  });
  expect(error).toBeNull();
}

async function quarantined(more: object): Promise<void> {
  const outcome = await run(planOf('back', more), { env: testEnv({ cwd }) });
  expect(outcome.invocations.map(({ error }) => error)).toEqual([null]);
  expect((await client.query('SELECT * FROM back')).rows).toEqual([]);
}

async function rowsOf(table: string): Promise<unknown[]> {
  const { rows } = await client.query(
    `SELECT whole::text AS row FROM ${table} AS whole ORDER BY id`,
  );
  return rows;
}

const none = { type: 'compare', field: 'id', op: 'gt', value: 100, on_failure: 'quarantine' };
/** A new table has `jsonb` for all JSON: dead letters tell logical types, and none of a database. */
async function withoutJson(...tables: string[]): Promise<void> {
  for (const table of tables) await client.query(`ALTER TABLE ${table} DROP j, DROP docs`);
}

test('records that a check put aside are written as they were, also into a new table', async () => {
  await quarantined({ quality: { record: [none] } });
  await again('back', {});
  expect(await rowsOf('back')).toEqual(await rowsOf('held'));
  await again('made', {});
  await withoutJson('held', 'made');
  expect(await rowsOf('made')).toEqual(await rowsOf('held'));
  const types = (table: string) =>
    client.query(
      `SELECT attname, format_type(atttypid, atttypmod) FROM pg_attribute WHERE attrelid = '${table}'::regclass AND attnum > 0 AND NOT attisdropped ORDER BY 1`,
    );
  expect((await types('made')).rows).toEqual((await types('held')).rows);
});

test('columns called as a whole number keep the place that they had in their file', async () => {
  await writeFile(join(cwd, 'years.csv'), 'id,2024,name,7\n1,5,ann,x\n');
  const plan = (enumerated: string) =>
    planDocument(
      documentOfTree({
        version: 1,
        name: 'years',
        pipeline: {
          source: { type: 'csv', config: { path: 'years.csv' } },
          sink: { type: 'csv', config: { path: 'out.csv' } },
          dlq: { sink: { type: 'jsonl', config: { path: 'dead.jsonl' } } },
          contract: {
            version: '1.0.0',
            on_breach: 'quarantine',
            fields: [{ name: 'id', type: 'string', enum: [enumerated] }],
          },
        },
      }),
      parts,
      { cpus: 1 },
    );
  await run(plan('2'), { env: testEnv({ cwd }) });
  await replayed(plan('1'));
  expect(await readFile(join(cwd, 'out.csv'), 'utf8')).toBe('id,2024,name,7\n1,5,ann,x\n');
});

test('records that the sink refused are written as they were', async () => {
  await client.query('ALTER TABLE back ADD CHECK (id > 100)');
  await quarantined({
    dlq: { sink: { type: 'jsonl', config: { path: 'dead.jsonl' } }, on_batch_error: 'dlq_all' },
  });
  await again('made', {});
  await withoutJson('held', 'made');
  expect(await rowsOf('made')).toEqual(await rowsOf('held'));
});

test('records that a transform put aside are written as they were read', async () => {
  const cast = { type: 'cast', config: { fields: { t: 'int' }, on_error: 'dlq' } };
  await client.query("UPDATE held SET t = 'x'");
  await quarantined({ transforms: [cast] });
  await again('back', {});
  expect(await rowsOf('back')).toEqual(await rowsOf('held'));
});

test('a field that was masked is written as it was masked, and hashed once', async () => {
  const masking = {
    rules: [
      { match: { fields: ['b'] }, action: { type: 'hash' } },
      { match: { fields: ['d'] }, action: { type: 'redact' } },
    ],
  };
  await client.query('ALTER TABLE back ALTER b TYPE text USING NULL, ALTER d TYPE text');
  await run(planOf('back', { masking }), { env: testEnv({ cwd }) });
  const wanted = await rowsOf('back');
  await client.query('TRUNCATE back');
  await quarantined({ masking, quality: { record: [none] } });
  await again('back', { masking });
  expect(await rowsOf('back')).toEqual(wanted);
});

test('numbers inside a document keep their spelling, whatever the sink is', async () => {
  await client.query(`UPDATE held SET jb = '{"price": 1.10, "list": [1.0, 2]}' WHERE id = 1`);
  await quarantined({ quality: { record: [none] } });
  await again('made', { sink: { type: 'jsonl', config: { path: 'made.jsonl' } } });
  expect(await readFile(join(cwd, 'made.jsonl'), 'utf8')).toContain(
    '"jb":{"list":[1.0,2],"price":1.10}',
  );
});

test('the dead letter tells types and spellings; a value that somebody corrected is taken', async () => {
  await quarantined({ quality: { record: [none] } });
  const path = join(cwd, 'dead.jsonl');
  const [line = ''] = (await readFile(path, 'utf8')).split('\n');
  const envelope = JSON.parse(line) as { types: string; spellings: object; payload: object };
  expect(envelope.types).toContain('b: binary, d: decimal(12, 2), big: int64');
  expect(envelope.spellings).toEqual({ f: '-0', j: ' {"a":  1.0}', jb: 'null' });
  const payload = { ...envelope.payload, f: 5, j: { a: 2 }, jb: [], b: 'aGk=' };
  await writeFile(path, `${JSON.stringify({ ...envelope, payload })}\n`);
  await again('back', {});
  const { rows } = await client.query(
    "SELECT f, j::text, jb::text, encode(b, 'escape') AS b FROM back",
  );
  expect(rows).toEqual([{ f: 5, j: '{"a":2}', jb: '[]', b: 'hi' }]);
});

test('a dead letter with types that cannot be read is counted, not taken for another record', async () => {
  const types = 'b: nonsense';
  await writeFile(
    join(cwd, 'dead.jsonl'),
    `${JSON.stringify({ payload: { b: 'aGk=' }, types })}\n${JSON.stringify({ payload: { b: 1 } })}\n`,
  );
  const { report } = await replay({
    plan: planOf('back', {}),
    parts,
    env: testEnv({ cwd }),
    signal: new AbortController().signal,
    from: 'dead.jsonl',
    dryRun: true,
    asWritten: false,
    keys: [],
  });
  expect(report).toMatchObject({ candidates: 1, passed_over: { malformed: 1 } });
});
