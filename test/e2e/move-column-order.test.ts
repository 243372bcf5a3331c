/** Columns of a file keep their order on every way, those that are called as a whole number too. */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { Client } from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openDuckdb } from '../../src/lib/sql/duckdb.ts';
import type { JsonObject } from '../../src/lib/text/json.ts';
import { move, type Stages } from '../fakes/move.ts';
import { freshDatabase } from '../servers/postgres.ts';

let database: Awaited<ReturnType<typeof freshDatabase>>;
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'headgate-order-'));
  database = await freshDatabase();
  await writeFile(join(folder, 'years.csv'), 'id,2024,name,7,more\n1,5,ann,x,y\n2,6,bob,,z\n');
  await writeFile(join(folder, 'words.csv'), 'a,b,c,d\n1,2,3,4\n');
  const lines = [
    '{"id":1,"2024":5,"name":"ann","7":"x","more":"y"}',
    '{"id":2,"2024":6,"name":"bob","7":"","more":"z"}',
  ];
  await writeFile(join(folder, 'years.jsonl'), lines.join('\n'));
  await writeFile(join(folder, 'spaced.jsonl'), lines.join('\n').replaceAll(':', ' : '));
  await writeFile(join(folder, 'years.json'), `[${lines.join(',\n')}]`);
  const db = new DatabaseSync(join(folder, 'years.db'));
  db.exec('CREATE TABLE y (id INTEGER, "2024" INTEGER, name TEXT, "7" TEXT, more TEXT)');
  db.exec("INSERT INTO y VALUES (1, 5, 'ann', 'x', 'y'), (2, 6, 'bob', NULL, 'z')");
  db.close();
});
afterAll(async () => {
  await database.drop();
  await rm(folder, { recursive: true, force: true });
});

const inFolder = (name: string): string => join(folder, name);

const SINKS: Readonly<
  Record<
    string,
    { readonly sink: () => JsonObject; readonly columns: () => Promise<readonly string[]> }
  >
> = {
  csv: {
    sink: () => ({ type: 'csv', config: { path: inFolder('out.csv') } }),
    columns: async () => headerOf('out.csv'),
  },
  'a csv file of `file`': {
    sink: () => ({ type: 'file', config: { path: inFolder('part.csv'), format: 'csv' } }),
    columns: async () => headerOf('part.csv'),
  },
  jsonl: {
    sink: () => ({ type: 'jsonl', config: { path: inFolder('out.jsonl') } }),
    columns: async () => membersOf('out.jsonl'),
  },
  'jsonl, pretty': {
    sink: () => ({ type: 'jsonl', config: { path: inFolder('out.jsonl'), pretty: true } }),
    columns: async () => membersOf('out.jsonl'),
  },
  'a JSON array of `file`': {
    sink: () => ({ type: 'file', config: { path: inFolder('part.json') } }),
    columns: async () => membersOf('part.json'),
  },
  'JSON lines of `file`': {
    sink: () => ({ type: 'file', config: { path: inFolder('part.jsonl') } }),
    columns: async () => membersOf('part.jsonl'),
  },
  sqlite: {
    sink: () => table('sqlite', { database_url: `sqlite:${inFolder('out.db')}` }),
    columns: async () => {
      const db = new DatabaseSync(inFolder('out.db'));
      const rows = db.prepare(`SELECT name FROM pragma_table_info('t') ORDER BY cid`).all();
      db.exec('DROP TABLE t');
      db.close();
      return rows.map(({ name }) => String(name));
    },
  },
  duckdb: {
    sink: () => table('duckdb', { database: inFolder('out.duckdb') }),
    columns: async () => {
      const { connection, close } = await openDuckdb(inFolder('out.duckdb'));
      try {
        const rows = (await connection.runAndReadAll('DESCRIBE t')).getRows();
        await connection.run('DROP TABLE t');
        return rows.map(([name]) => String(name));
      } finally {
        close();
      }
    },
  },
  postgres: {
    sink: () => table('postgres', { connection_url: database.url }),
    columns: async () => {
      const client = new Client({ connectionString: database.url });
      await client.connect();
      const { fields } = await client.query('SELECT * FROM t');
      await client.query('DROP TABLE t');
      await client.end();
      return fields.map(({ name }) => name);
    },
  },
};

function table(type: string, config: JsonObject): JsonObject {
  return {
    type,
    config: { ...config, table_name: 't', column_mapping: 'auto_map', create_table: true },
  };
}

async function headerOf(name: string): Promise<readonly string[]> {
  const [header = ''] = (await readFile(inFolder(name), 'utf8')).split('\n');
  return header.split(',');
}

/** Names in the text of the first record. */
async function membersOf(name: string): Promise<readonly string[]> {
  const [record = ''] = (await readFile(inFolder(name), 'utf8')).split('}');
  return Array.from(record.matchAll(/"([^"]+)": ?/g), ([, member]) => member ?? '');
}

const csv = (config: JsonObject = {}): JsonObject => ({
  type: 'csv',
  config: { path: inFolder('years.csv'), ...config },
});
const file = (name: string, config: JsonObject = {}): JsonObject => ({
  type: 'file',
  config: { path: inFolder(name), ...config },
});
const jsonl = (name: string, config: JsonObject = {}): JsonObject => ({
  type: 'jsonl',
  config: { path: inFolder(`${name}.jsonl`), ...config },
});
const rows = (): JsonObject => ({
  type: 'sqlite',
  config: { database_url: `sqlite:${inFolder('years.db')}`, query: 'SELECT * FROM y' },
});
const SET: Stages = [{ type: 'set', config: { values: { z: 1 } } }];
const SQL: Stages = [{ type: 'sql', config: { query: 'SELECT * FROM batch' } }];
const RENAME: Stages = [{ type: 'rename_field', config: { fields: { name: 'title' } } }];
const CASES: Stages = [{ type: 'keys_case', config: { mode: 'screaming_snake' } }];
const ORDER = ['id', '2024', 'name', '7', 'more'];

test.each(Object.keys(SINKS))('as they stand in a file, in %s', async (name) => {
  const { sink, columns } = SINKS[name]!;
  await move(csv(), file('years.xlsx', { format: 'xlsx' }));
  const ways = {
    plain: [csv(), []],
    typed: [csv({ columns: { name: 'utf8' } }), []],
    flexible: [csv({ flexible: true }), []],
    inferred: [csv({ infer_types: true }), []],
    set: [csv(), SET],
    renamed: [csv(), RENAME],
    upper: [csv(), CASES],
    file: [file('years.csv'), []],
    sheet: [file('years.xlsx'), []],
    'inferred sheet': [file('years.xlsx', { infer_types: true }), []],
    'renamed sheet': [file('years.xlsx'), RENAME],
    lines: [jsonl('years'), []],
    'spaced lines': [jsonl('spaced'), []],
    'renamed lines': [jsonl('spaced'), RENAME],
    'inferred lines': [jsonl('years', { infer_types: true }), []],
    'lines of a file': [file('years.jsonl'), []],
    'a document': [file('years.json'), []],
    rows: [rows(), []],
    'renamed rows': [rows(), RENAME],
    queried: [rows(), SQL],
    'queried text': [csv(), SQL],
  } as const;
  const found: Record<string, readonly string[]> = {};
  for (const [way, [source, stages]] of Object.entries(ways)) {
    await move(source, sink(), stages);
    found[way] = await columns();
  }
  const renamed = ['id', '2024', 'title', '7', 'more'];
  expect(found).toEqual({
    plain: ORDER,
    typed: ORDER,
    flexible: ORDER,
    inferred: ORDER,
    set: [...ORDER, 'z'],
    renamed,
    upper: ['ID', '2024', 'NAME', '7', 'MORE'],
    file: ORDER,
    sheet: ORDER,
    'inferred sheet': ORDER,
    'renamed sheet': renamed,
    lines: ORDER,
    'spaced lines': ORDER,
    'renamed lines': renamed,
    'inferred lines': ORDER,
    'lines of a file': ORDER,
    'a document': ORDER,
    rows: ORDER,
    'renamed rows': renamed,
    queried: ORDER,
    'queried text': ORDER,
  });
});

test('their order says nothing of types', async () => {
  await move(csv({ infer_types: true }), SINKS['sqlite']!.sink());
  const db = new DatabaseSync(inFolder('out.db'));
  const [row] = db.prepare('SELECT typeof(id) AS id, typeof("2024") AS year FROM t').all();
  db.exec('DROP TABLE t');
  db.close();
  expect(row).toEqual({ id: 'integer', year: 'integer' });
});

test.each(Object.keys(SINKS))(
  'whatever field of theirs a stage gives a type, in %s',
  async (name) => {
    const { sink, columns } = SINKS[name]!;
    const cast = [{ type: 'cast', config: { fields: { c: 'int' } } }];
    await move(csv({ path: inFolder('words.csv') }), sink(), cast);
    expect(await columns()).toEqual(['a', 'b', 'c', 'd']);
  },
);
