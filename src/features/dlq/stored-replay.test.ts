/** A record of a SQLite file is written to another one as it was stored, also after a replay. */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { beforeEach, expect, test } from 'vitest';
import { load } from '../../../test/fakes/documents.ts';
import { run } from '../../../test/fakes/engine.ts';
import { testEnv } from '../../../test/fakes/env.ts';
import { parts } from '../../parts.ts';
import { planDocument } from '../../plan/plan-document.ts';
import { replay } from './replay.ts';

const COLUMNS = ['code', 'doc', 'price', 'image', 'share', 'anything'];
const MADE = `(id INTEGER PRIMARY KEY, code TEXT, doc TEXT, price TEXT, image BLOB, share REAL, anything)`;

let cwd: string;
beforeEach(async () => {
  cwd = await mkdtemp(join(tmpdir(), 'headgate-stored-replay-'));
  inFile('from.db', (db) =>
    db.exec(`CREATE TABLE held ${MADE}; INSERT INTO held VALUES
      (1, '123', '{"a": 1.0, "a": 2}', '1.10', X'ff00', 9e999, X'01'),
      (2, 'null', ' [1]', '1e5', 'it''s', -0.0, '"q"'),
      (3, '00', 'x', '2.50', NULL, 1.5, 2.0)`),
  );
  inFile('to.db', (db) => db.exec(`CREATE TABLE held ${MADE}`));
  return () => rm(cwd, { recursive: true, force: true });
});

function inFile<T>(name: string, work: (db: DatabaseSync) => T): T {
  using db = new DatabaseSync(join(cwd, name));
  return work(db);
}

function rowsOf(file: string, table = 'held'): unknown[] {
  const columns = COLUMNS.map((name) => `quote(${name}) AS ${name}`).join(', ');
  return inFile(file, (db) => db.prepare(`SELECT id, ${columns} FROM ${table} ORDER BY id`).all());
}

const quality = {
  record: [{ type: 'compare', field: 'id', op: 'gt', value: 100, on_failure: 'quarantine' }],
};

function planOf(more: object) {
  const document = {
    version: 1,
    name: 'p',
    pipeline: {
      source: {
        type: 'sqlite',
        config: { database_url: 'sqlite:from.db', query: 'SELECT * FROM held' },
      },
      sink: {
        type: 'sqlite',
        config: { database_url: 'sqlite:to.db', table_name: 'held', column_mapping: 'auto_map' },
      },
      dlq: { sink: { type: 'jsonl', config: { path: 'dead.jsonl' } } },
      ...more,
    },
  };
  return planDocument(load(JSON.stringify(document), { format: 'json' }), parts, { cpus: 1 });
}

async function quarantined(more: object): Promise<Record<string, unknown>[]> {
  const outcome = await run(planOf({ quality, ...more }), { env: testEnv({ cwd }) });
  expect(outcome.invocations.map(({ error }) => error)).toEqual([null]);
  expect(rowsOf('to.db')).toEqual([]);
  const text = await readFile(join(cwd, 'dead.jsonl'), 'utf8');
  return text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>);
}

async function again(more: object): Promise<void> {
  const { error } = await replay({
    plan: planOf(more),
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

test('text that spells JSON, bytes and infinities are stored as they were', async () => {
  const letters = await quarantined({});
  expect(letters[0]).toMatchObject({
    payload: { code: 123, price: 1.1, share: null },
    stored: {
      code: { value: "'123'", declared: 'TEXT' },
      price: { value: "'1.10'", declared: 'TEXT' },
      share: { value: '9e999', declared: 'REAL' },
    },
  });
  await again({});
  expect(rowsOf('to.db')).toEqual(rowsOf('from.db'));
});

test('a value that somebody corrected is taken, and the others are as they were', async () => {
  const letters = await quarantined({});
  const [first] = letters;
  const payload = { ...(first?.['payload'] as object), code: 124 };
  await writeFile(join(cwd, 'dead.jsonl'), `${JSON.stringify({ ...first, payload })}\n`);
  await again({});
  const [wanted] = rowsOf('from.db') as object[];
  expect(rowsOf('to.db')).toEqual([{ ...wanted, code: "'124'" }]);
});

test('a field that was masked has nothing in the dead letter but its mask', async () => {
  const masking = {
    rules: [{ match: { fields: ['code', 'doc'] }, action: { type: 'redact' } }],
  };
  const letters = await quarantined({ masking });
  for (const { stored } of letters) {
    expect(stored).not.toHaveProperty('code');
    expect(stored).not.toHaveProperty('doc');
  }
  expect(JSON.stringify(letters)).not.toContain('123');
  await again({ masking });
  const wanted = (rowsOf('from.db') as object[]).map((row) => ({
    ...row,
    code: "'***'",
    doc: "'***'",
  }));
  expect(rowsOf('to.db')).toEqual(wanted);
});

test('a field that has another name since is stored as it was', async () => {
  inFile('to.db', (db) => db.exec('ALTER TABLE held RENAME price TO amount'));
  const transforms = [{ type: 'rename_field', config: { fields: { price: 'amount' } } }];
  const outcome = await run(planOf({ quality, transforms }), { env: testEnv({ cwd }) });
  expect(outcome.invocations.map(({ error }) => error)).toEqual([null]);
  await again({ transforms });
  inFile('to.db', (db) => db.exec('ALTER TABLE held RENAME amount TO price'));
  expect(rowsOf('to.db')).toEqual(rowsOf('from.db'));
});
