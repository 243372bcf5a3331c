/** Two columns of one name are refused on every way out of the server. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { testContext } from '../../../test/fakes/env.ts';
import { freshDatabase } from '../../../test/servers/postgres.ts';
import { COLUMNS_LANE, RECORDS_LANE, type Lane } from '../../kit/page.ts';
import { check } from '../../kit/schema.ts';
import { postgresSource } from './index.ts';

let database: Awaited<ReturnType<typeof freshDatabase>>;
beforeAll(async () => {
  database = await freshDatabase();
});
afterAll(() => database.drop());

const BINARY: Lane = { form: 'bytes', encoding: 'pg_copy_binary' };
const LINES: Lane = { form: 'bytes', encoding: 'json_lines' };
const lanes: readonly (readonly [string, Lane, number | undefined])[] = [
  ['records', RECORDS_LANE, undefined],
  ['columns', COLUMNS_LANE, undefined],
  ['binary COPY', BINARY, undefined],
  ['lines', LINES, undefined],
  ['a cursor', RECORDS_LANE, 5],
];

function config(rows: number): never {
  const query = `SELECT i AS id, 'x' AS name, -i AS id FROM generate_series(1, ${rows}) AS i`;
  const checked = check(postgresSource.config, { connection_url: database.url, query });
  if (!checked.ok) throw new Error(JSON.stringify(checked.issues));
  return checked.value as never;
}

async function read(rows: number, lane: Lane, limit: number | undefined): Promise<number> {
  const source = await postgresSource.open(config(rows), testContext('/'));
  let count = 0;
  try {
    for await (const page of source.pages(limit === undefined ? { lane } : { lane, limit }))
      count += page.count;
    return count;
  } finally {
    await source.close();
  }
}

const REFUSED = { kind: 'data', message: 'the query gives two columns called "id"' };

test.each(lanes)('through %s', async (_name, lane, limit) => {
  for (const rows of [0, 3]) await expect(read(rows, lane, limit)).rejects.toMatchObject(REFUSED);
});

test('where only the columns are described', async () => {
  await expect(postgresSource.describe?.(config(1), testContext('/'))).rejects.toMatchObject({
    ...REFUSED,
    hint: expect.stringContaining('`AS`') as string,
  });
});
