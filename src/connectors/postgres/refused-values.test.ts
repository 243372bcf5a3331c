import { Client } from 'pg';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { testContext } from '../../../test/fakes/env.ts';
import { freshDatabase } from '../../../test/servers/postgres.ts';
import { Page } from '../../kit/page.ts';
import { check } from '../../kit/schema.ts';
import type { Sink } from '../../kit/sink.ts';
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

async function opened(config: JsonObject): Promise<Sink> {
  const checked = check(postgresSink.config, {
    connection_url: database.url,
    table_name: 't',
    column_mapping: 'auto_map',
    ...config,
  });
  if (!checked.ok) throw new Error(JSON.stringify(checked.issues));
  return postgresSink.open(checked.value, testContext('/'));
}

async function failureTo(
  records: readonly JsonObject[],
  config: JsonObject,
): Promise<ConnectorError> {
  const sink = await opened(config);
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
const COPIED: JsonObject = { write_method: 'copy' };
const WAYS: readonly JsonObject[] = [
  { write_method: 'insert' },
  COPIED,
  { write_method: 'insert', write_mode: 'upsert', key: ['id'] },
  { write_method: 'copy', write_mode: 'upsert', key: ['id'] },
];

test.each([
  { write_method: 'insert', batch_size: 0 },
  { write_method: 'insert', batch_size: 2 },
  ...WAYS.slice(2),
])('a refused value is told with the place of its record, by %j', async (way) => {
  const records = [GOOD, { ...GOOD, id: 2 }, { ...GOOD, id: 3, word: 'abcd' }];
  expect(await failureTo(records, way)).toMatchObject({ record: 2 });
});

const IN_STATEMENTS = WAYS.filter((way) => way !== COPIED);

test.each(IN_STATEMENTS)('so is a value that is missing, by %j', async (way) => {
  const records = [GOOD, { ...GOOD, id: 2, code: null }, { ...GOOD, id: 3, code: null }];
  expect(await failureTo(records, way)).toMatchObject({ record: 1 });
});

test('so is a key that is there already, in the table or in the page', async () => {
  const records = [GOOD, { ...GOOD, id: 2 }, { ...GOOD, id: 1 }];
  expect(await failureTo(records, { write_method: 'insert' })).toMatchObject({ record: 2 });
  await client.query('INSERT INTO t (id) VALUES (2)');
  expect(await failureTo(records.slice(0, 2), { write_method: 'insert' })).toMatchObject({
    record: 1,
  });
});

test('rows of pages that go with one COPY are told with their number', async () => {
  const bad = { ...GOOD, id: 2, n: 'x' };
  expect(await refusal([GOOD, bad], COPIED)).toMatch(
    /\(column "n"; row 2 of the COPY statement\)$/,
  );
  const sink = await opened(COPIED);
  await sink.write(Page.ofRecords([GOOD, { ...GOOD, id: 3 }]), { partial: false });
  const writing = sink.write(Page.ofRecords([bad]), { partial: false }).then(() => sink.flush());
  await expect(writing).rejects.toThrow('row 1 of the COPY statement');
  await sink.close();
  const alone = await opened(COPIED);
  const whole = alone.write(Page.ofRecords([GOOD, bad]), { partial: true });
  await expect(whole).rejects.toMatchObject({ record: 1 });
  await alone.close();
});

const ROW = '; row 2 of the COPY statement';

test.each(WAYS)('a refused value is told with its column, by %j', async (way) => {
  for (const [bad, message] of CASES)
    expect((await refusal([GOOD, { ...GOOD, id: 2, ...bad }], way)).replace(ROW, '')).toBe(message);
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
