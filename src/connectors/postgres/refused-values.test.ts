import { Client } from 'pg';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { testContext } from '../../../test/fakes/env.ts';
import { freshDatabase } from '../../../test/servers/postgres.ts';
import { Page } from '../../kit/page.ts';
import { check } from '../../kit/schema.ts';
import { ConnectorError } from '../../lib/errors.ts';
import type { JsonObject } from '../../lib/text/json.ts';
import { postgresSink } from './index.ts';

let database: Awaited<ReturnType<typeof freshDatabase>>;
let client: Client;
beforeAll(async () => {
  database = await freshDatabase();
  client = new Client({ connectionString: database.url });
  await client.connect();
});
afterAll(async () => {
  await client.end();
  await database.drop();
});
beforeEach(async () => {
  await client.query(
    `DROP TABLE IF EXISTS t; CREATE TABLE t (id int PRIMARY KEY CHECK (id >= 0), other text, n int,
     word varchar(3), day date, code text NOT NULL DEFAULT 'x', secret text DEFAULT 'stored')`,
  );
});

async function refusal(records: readonly JsonObject[], config: JsonObject): Promise<string> {
  return (await failureTo(records, config)).message.replace('writing to `t`: ', '');
}

async function failureTo(
  records: readonly JsonObject[],
  config: JsonObject,
): Promise<ConnectorError> {
  const checked = check(postgresSink.config, {
    connection_url: database.url,
    table_name: 't',
    column_mapping: 'auto_map',
    ...config,
  });
  if (!checked.ok) throw new Error(JSON.stringify(checked.issues));
  const sink = await postgresSink.open(checked.value, testContext('/'));
  const writing = sink.write(Page.ofRecords(records), { partial: false }).then(() => sink.flush());
  const failure: unknown = await writing.catch((error: unknown) => error);
  await sink.close();
  if (!(failure instanceof ConnectorError)) throw new Error('the value was not refused');
  return failure;
}

const GOOD = { id: 1, other: 'x', n: 5, word: 'abc', day: '2024-02-29', code: 'c' };
const CASES: readonly (readonly [JsonObject, string])[] = [
  [{ n: 'x' }, 'invalid input syntax for type integer: "x" (column "n")'],
  [{ n: 99999999999 }, 'value "99999999999" is out of range for type integer (column "n")'],
  [{ word: 'abcd' }, 'value too long for type character varying(3) (column "word")'],
  [{ day: '2024-13-45' }, 'date/time field value out of range: "2024-13-45" (column "day")'],
];
const WAYS: readonly JsonObject[] = [
  { write_method: 'insert' },
  { write_method: 'copy' },
  { write_method: 'insert', write_mode: 'upsert', key: ['id'] },
  { write_method: 'copy', write_mode: 'upsert', key: ['id'] },
];

test('a refused value is told with the place of its record, where rows are inserted', async () => {
  const records = [GOOD, { ...GOOD, id: 2 }, { ...GOOD, id: 3, word: 'abcd' }];
  for (const batch_size of [0, 2])
    expect(await failureTo(records, { write_method: 'insert', batch_size })).toMatchObject({
      record: 2,
    });
});

test.each(WAYS)('a refused value is told with its column, by %j', async (way) => {
  for (const [bad, message] of CASES)
    expect(await refusal([GOOD, { ...GOOD, id: 2, ...bad }], way)).toBe(message);
});

test('a record that breaks a rule of the table is told by its key, or as it would be stored', async () => {
  const [append] = WAYS as [JsonObject];
  expect(await refusal([GOOD, GOOD], append)).toContain('(Key (id)=(1) already exists)');
  expect(await refusal([{ ...GOOD, id: -7 }], append)).toContain('(Failing row contains (-7, x');
});

test('what an upsert found in the table is not told', async () => {
  await client.query("INSERT INTO t (id) VALUES (1); UPDATE t SET secret = 'of others'");
  await client.query("ALTER TABLE t ADD CHECK (word <> 'bad')");
  for (const way of WAYS.slice(2)) {
    const message = await refusal([{ ...GOOD, word: 'bad' }], way);
    expect(message).toContain('violates check constraint');
    expect(message).not.toContain('of others');
    expect(message).not.toContain('Failing row');
  }
});
