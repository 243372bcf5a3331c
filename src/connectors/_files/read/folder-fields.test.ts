import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { testContext } from '../../../../test/fakes/env.ts';
import { move } from '../../../../test/fakes/move.ts';
import { RECORDS_LANE } from '../../../kit/page.ts';
import { parseJson, type JsonObject } from '../../../lib/text/json.ts';
import { fileSource } from '../../file/read/source.ts';

const FOLDERS = ['year=2024/city=A%2FB', 'year=2025/city=__HIVE_DEFAULT_PARTITION__'];

let folder: string;
const at = (name: string): string => join(folder, name);

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'headgate-folders-'));
  for (const [id, path] of FOLDERS.entries()) {
    await put(`csv/${path}/part.csv`, `id,own\n${id},x\n`);
    await put(`lines/${path}/part.jsonl`, `{"id":${id},"own":"x"}\n`);
    await put(`owned/${path}/part.csv`, `id,year,city\n${id},kept,kept\n`);
    const destination = { type: 'local_path', path: at(`parquet/${path}/part.parquet`) };
    await move(
      { type: 'jsonl', config: { path: at(`lines/${path}/part.jsonl`) } },
      { type: 'parquet', config: { destination } },
    );
  }
});
afterAll(() => rm(folder, { recursive: true, force: true }));

async function put(name: string, text: string): Promise<void> {
  await mkdir(dirname(at(name)), { recursive: true });
  await writeFile(at(name), text);
}

async function read(source: JsonObject): Promise<readonly unknown[]> {
  await move(source, { type: 'jsonl', config: { path: at('out.jsonl') } });
  const lines = (await readFile(at('out.jsonl'), 'utf8')).trimEnd().split('\n');
  return lines.map((line) => parseJson(line));
}

const file = (path: string, config: JsonObject = {}): JsonObject => ({
  type: 'file',
  config: { path: at(`${path}/**/*`), hive_partitioning: true, ...config },
});
const parquet = (config: JsonObject): JsonObject => ({
  type: 'parquet',
  config: { source: { type: 'glob', pattern: at('parquet/**/*.parquet') }, ...config },
});
const found = (...ids: readonly unknown[]): readonly JsonObject[] =>
  [
    { own: 'x', year: '2024', city: 'A/B' },
    { own: 'x', year: '2025', city: null },
  ].map((record, index) => ({ id: ids[index] as number, ...record }));

test('are added to the records of each format', async () => {
  expect(await read(file('csv'))).toEqual(found('0', '1'));
  expect(await read(file('lines'))).toEqual(found(0, 1));
  expect(await read(file('parquet'))).toEqual(found(0, 1));
  expect(await read(parquet({ hive_partitioning: true }))).toEqual(found(0, 1));
});

test('can be given types, and never replace a field of the file', async () => {
  const typed = await read(file('csv', { columns: { year: 'int32' } }));
  expect(typed).toMatchObject([{ year: 2024 }, { year: 2025 }]);
  expect(await read(file('owned'))).toMatchObject([{ year: 'kept' }, { year: 'kept' }]);
});

test('are columns of a table that is made of typed files', async () => {
  const config = {
    database_url: `sqlite:${at('made.db')}`,
    table_name: 't',
    column_mapping: 'auto_map',
    create_table: true,
  };
  await move(parquet({ hive_partitioning: true }), { type: 'sqlite', config });
  const db = new DatabaseSync(at('made.db'));
  expect(db.prepare('SELECT id, year FROM t ORDER BY id').all()).toEqual([
    { id: 0, year: '2024' },
    { id: 1, year: '2025' },
  ]);
  db.close();
});

test('that are not asked for are told once, where a record lacks them', async () => {
  const warned = async (path: string): Promise<readonly string[]> => {
    const context = testContext(folder);
    const config = fileSource.config.parse({ path: at(`${path}/**/*`) });
    const source = await fileSource.open(config, context);
    for await (const page of source.pages({ lane: RECORDS_LANE })) page.release();
    await source.close();
    return context.lines.filter(({ level }) => level === 'WARN').map(({ line }) => line);
  };
  expect(await warned('csv')).toEqual([expect.stringContaining('fields="year, city"')]);
  expect(await warned('owned')).toEqual([]);
});
