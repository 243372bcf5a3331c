/** Tables that the sink makes for pages of other systems, whose schema says logical types only. */
import { Client } from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { testContext } from '../../../../test/fakes/env.ts';
import { freshDatabase } from '../../../../test/servers/postgres.ts';
import { Page } from '../../../kit/page.ts';
import type { RecordField, RecordSchema } from '../../../kit/record-schema.ts';
import { check } from '../../../kit/schema.ts';
import { parseType } from '../../../kit/type-text.ts';
import type { JsonValue } from '../../../lib/text/json.ts';
import { postgresSink } from '../index.ts';

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

async function write(table: string, records: JsonValue[], schema: RecordSchema): Promise<void> {
  const checked = check(postgresSink.config, {
    connection_url: database.url,
    table_name: table,
    column_mapping: 'auto_map',
  });
  if (!checked.ok) throw new Error(checked.issues[0]?.message);
  const sink = await postgresSink.open(checked.value, testContext('/'));
  try {
    await sink.write(Page.ofRecords(records, { schema }), { partial: false });
    await sink.flush();
    await sink.finish('success');
  } finally {
    await sink.close();
  }
}

async function columnsOf(table: string): Promise<string[]> {
  const { rows } = await client.query<{ column: string }>(
    `SELECT attname || ' ' || format_type(atttypid, atttypmod) AS column FROM pg_attribute
     WHERE attrelid = $1::regclass AND attnum > 0 ORDER BY attnum`,
    [table],
  );
  return rows.map(({ column }) => column);
}

function field(name: string, type: string): RecordField {
  return { name, type: parseType(type) ?? { kind: 'utf8' }, nullable: true };
}

test('have columns of the nearest types, and values as what they are', async () => {
  const values: [string, JsonValue, string][] = [
    ['bool', true, 'true'],
    ['int16', 1, '1'],
    ['int32', 1, '1'],
    ['int64', 9007199254740993n, '9007199254740993'],
    ['uint64', 18446744073709551615n, '18446744073709551615'],
    ['float32', 0.5, '0.5'],
    ['float64', 1, '1'],
    ['decimal(12, 2)', '1.10', '1.10'],
    ['decimal', '1.100', '1.100'],
    ['utf8', '{"a":1}', '{"a":1}'],
    ['binary', 'aGk=', '\\x6869'],
    ['date', '2024-05-06', '2024-05-06'],
    ['time', '07:08:09', '07:08:09'],
    ['timestamp(us)', '2024-05-06T07:08:09', '2024-05-06 07:08:09'],
    ['timestamp(us, UTC)', '2024-05-06T07:08:09Z', '2024-05-06 07:08:09+00'],
    ['interval', 'P1D', '1 day'],
    ['uuid', '0189c0de-0000-7000-8000-000000000000', '0189c0de-0000-7000-8000-000000000000'],
    ['json', '[1', '"[1"'],
    ['list(utf8)', ['a', 'b c', null], '{a,"b c",NULL}'],
    ['list(binary)', ['aGk=', null], '{"\\\\x6869",NULL}'],
    ['list(list(int32))', [[1], [2, 3]], '[[1], [2, 3]]'],
    ['struct(a: int32)', { a: 1 }, '{"a": 1}'],
    ['map(utf8, int32)', { a: 1 }, '{"a": 1}'],
  ];
  const fields = values.map(([type], index) => field(`c${index}`, type));
  const record = Object.fromEntries(values.map(([, value], index) => [`c${index}`, value]));
  await write('typed', [record, {}], { fields });
  expect((await columnsOf('typed')).map((column) => column.replace(/^c\d+ /, ''))).toEqual([
    'boolean',
    'smallint',
    'integer',
    'bigint',
    'numeric(20,0)',
    'real',
    'double precision',
    'numeric(12,2)',
    'numeric',
    'text',
    'bytea',
    'date',
    'time without time zone',
    'timestamp without time zone',
    'timestamp with time zone',
    'interval',
    'uuid',
    'jsonb',
    'text[]',
    'bytea[]',
    'jsonb',
    'jsonb',
    'jsonb',
  ]);
  await client.query("SET timezone = 'UTC'");
  const texts = fields.map(({ name }) => `${name}::text AS ${name}`).join(', ');
  const { rows } = await client.query<Record<string, string>>(
    `SELECT ${texts} FROM typed WHERE c0`,
  );
  expect(Object.values(rows[0] ?? {})).toEqual(values.map(([, , text]) => text));
});

test('of an open schema have the fields that records have', async () => {
  const fields = [field('x', 'float64'), field('gone', 'date')];
  await write('open', [{ id: 1, x: 1 }], { fields, others: true });
  expect(await columnsOf('open')).toEqual(['id bigint', 'x double precision']);
});

test('a native type that this server does not have is the one of its logical type', async () => {
  const fields: RecordField[] = [
    { ...field('m', 'utf8'), native: { system: 'postgres', name: 'no_such_mood' } },
    { ...field('d', 'date'), native: { system: 'duckdb', name: 'tsvector' } },
    { ...field('v', 'utf8'), native: { system: 'postgres', name: 'tsvector' } },
  ];
  await write('natives', [{ m: 'ok', d: '2024-05-06', v: "'a':1" }], { fields });
  expect(await columnsOf('natives')).toEqual(['m text', 'd date', 'v tsvector']);
});

test('native types keep their lengths, precisions and fields', async () => {
  const names = [
    'time(3) without time zone',
    'timestamp(0) with time zone',
    'interval year to month',
    'interval day to second(3)',
    'character varying(5)',
    'character varying(5)[]',
    'bit varying(3)',
  ];
  const fields = names.map((name, index): RecordField => {
    return { ...field(`c${index}`, 'utf8'), native: { system: 'postgres', name } };
  });
  await write('limited', [{ c0: '07:08:09.123' }], { fields });
  expect(await columnsOf('limited')).toEqual(names.map((name, index) => `c${index} ${name}`));
});
