/** Rows that come later with the last value of an incremental read are not lost, in any lane. */
import { Client } from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { testContext } from '../../../test/fakes/env.ts';
import { freshDatabase } from '../../../test/servers/postgres.ts';
import type { JsonObject, JsonValue } from '../../lib/text/json.ts';
import { COLUMNS_LANE, RECORDS_LANE, type Lane } from '../../kit/page.ts';
import { check } from '../../kit/schema.ts';
import { postgresSource } from './index.ts';
import { MOST_SEEN } from '../../kit/stored-bookmark.ts';

let database: Awaited<ReturnType<typeof freshDatabase>>;
let client: Client;
let tables = 0;
beforeAll(async () => {
  database = await freshDatabase();
  client = new Client({ connectionString: database.url });
  await client.connect();
});
afterAll(async () => {
  await client.end();
  await database.drop();
});

const lanes: readonly Lane[] = [
  RECORDS_LANE,
  COLUMNS_LANE,
  { form: 'bytes', encoding: 'jsonl' },
  { form: 'bytes', encoding: 'pg_copy_binary' },
];

interface Read {
  readonly records: JsonObject[];
  readonly bookmark: JsonValue | undefined;
  readonly warnings: number;
}

async function read(
  from: string,
  request: { lane: Lane; bookmark?: JsonValue | undefined; limit?: number },
  type = 'numeric',
): Promise<Read> {
  const replication = { type: 'incremental', column: 'at', initial_value: 0 };
  const query = `SELECT at::${type} AS at, v, j FROM ${from}`;
  const config = {
    connection_url: database.url,
    query,
    replication,
    batch_size: 3,
    json_big_numbers: 'string',
  };
  const checked = check(postgresSource.config, config);
  if (!checked.ok) throw new Error(JSON.stringify(checked.issues));
  const context = testContext('/');
  const source = await postgresSource.open(checked.value, context);
  const { bookmark: start, ...rest } = request;
  let bookmark = start;
  const records: JsonObject[] = [];
  try {
    const asked = start === undefined ? rest : { ...rest, bookmark: start };
    for await (const page of source.pages(asked)) {
      records.push(...(page.records() as JsonObject[]));
      bookmark = page.bookmark ?? bookmark;
    }
  } finally {
    await source.close();
  }
  return {
    records,
    bookmark,
    warnings: context.lines.filter(({ level }) => level === 'WARN').length,
  };
}

async function table(rows: string): Promise<string> {
  const name = `ties_${(tables += 1)}`;
  await client.query(`CREATE TABLE ${name} (at text, v int, j jsonb)`);
  await client.query(`INSERT INTO ${name} VALUES ${rows}`);
  return name;
}

const vs = ({ records }: Read): unknown[] => records.map(({ v }) => v).sort(byNumber);
const byNumber = (one: unknown, other: unknown): number => Number(one) - Number(other);

test('each run gives the rows that are new, whichever lanes the runs use', async () => {
  for (const [index, first] of lanes.entries()) {
    const second = lanes[(index + 1) % lanes.length] as Lane;
    const name = await table(
      `('1', 1, '{"n": 0.12345678901234567890}'), ('2.0', 2, NULL), ('2.00', 3, '[1]'), ('2', 3, '[1]')`,
    );
    const one = await read(name, { lane: first });
    expect(vs(one)).toEqual([1, 2, 3, 3]);
    const none = await read(name, { lane: second, bookmark: one.bookmark });
    expect(none.records).toEqual([]);
    await client.query(
      `INSERT INTO ${name} VALUES ('2.0', 4, NULL), ('2.000', 3, '[1]'), ('1', 5, NULL)`,
    );
    const two = await read(name, { lane: second, bookmark: none.bookmark });
    expect(vs(two)).toEqual([3, 4]);
    await client.query(`INSERT INTO ${name} VALUES ('2', 6, NULL), ('3', 7, NULL)`);
    const three = await read(name, { lane: first, bookmark: two.bookmark });
    expect(vs(three)).toEqual([6, 7]);
  }
});

test('a limited run goes on between equal values', async () => {
  const name = await table("('1', 1, NULL), ('1', 2, NULL), ('1', 3, NULL), ('1', 4, NULL)");
  const one = await read(name, { lane: RECORDS_LANE, limit: 2 });
  const two = await read(name, { lane: RECORDS_LANE, limit: 1, bookmark: one.bookmark });
  const rest = await read(name, { lane: RECORDS_LANE, bookmark: two.bookmark });
  expect([one, two, rest].map(({ records }) => records.length)).toEqual([2, 1, 1]);
  expect([...vs(one), ...vs(two), ...vs(rest)].sort(byNumber)).toEqual([1, 2, 3, 4]);
});

test('beyond the rows that a bookmark holds it is the value alone, with a warning', async () => {
  for (const lane of lanes) {
    const name = await table(
      Array.from({ length: MOST_SEEN + 1 }, (_, index) => `('7', ${index}, NULL)`).join(', '),
    );
    const one = await read(name, { lane }, 'int');
    expect([one.records.length, one.bookmark, one.warnings]).toEqual([MOST_SEEN + 1, 7, 1]);
    expect((await read(name, { lane, bookmark: 7 }, 'int')).records).toEqual([]);
    await client.query(`DELETE FROM ${name} WHERE v = 0`);
    const full = await read(name, { lane }, 'int');
    expect([full.records.length, full.warnings]).toEqual([MOST_SEEN, 0]);
    await client.query(`INSERT INTO ${name} VALUES ('7', -1, NULL)`);
    expect(vs(await read(name, { lane, bookmark: full.bookmark }, 'int'))).toEqual([-1]);
  }
});
