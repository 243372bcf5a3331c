/** The types of a query: those of its input, and what the engine says of its result. */
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { testEnv } from '../../../test/fakes/env.ts';
import { recordsOf } from '../../../test/support/transforms.ts';
import { check } from '../../kit/schema.ts';
import { UNKNOWN_SCHEMA, type RecordField, type RecordSchema } from '../../kit/record-schema.ts';
import { parseType, schemaText } from '../../kit/type-text.ts';
import { fieldFault } from '../../kit/typed-values.ts';
import {
  isObject,
  parseData,
  parseJson,
  stringifyJson,
  type JsonObject,
  type JsonValue,
} from '../../lib/text/json.ts';
import { documentText, JSON_NULL, withSourceText } from '../../lib/text/json-literal.ts';
import { sql } from './sql.ts';
import type { SqlConfig } from './sql-config.ts';

const folder = mkdtempSync(join(tmpdir(), 'headgate-sql-types-'));

function field(name: string, text: string, native?: string): RecordField {
  const type = parseType(text);
  if (type === undefined) throw new Error(text);
  const one = { name, type, nullable: true };
  return native === undefined ? one : { ...one, native: { system: 'postgres', name: native } };
}

const TABLE: RecordSchema = {
  fields: [
    field('id', 'int32'),
    field('price', 'decimal(12, 2)', 'numeric(12,2)'),
    field('big', 'decimal', 'numeric'),
    field('raw', 'binary'),
    field('doc', 'json'),
    field('name', 'utf8', 'citext'),
    field('seen', 'timestamp(us, UTC)'),
    field('born', 'date'),
    field('tags', 'list(int32)'),
  ],
};
const RECORD: JsonObject = {
  id: 7,
  price: '1.50',
  big: '123456789012345678901234567890123456789012.5',
  raw: 'AP8=',
  doc: { city: 'Bergen', n: 1 },
  name: 'Ada',
  seen: '2024-05-06T07:08:09.5Z',
  born: '1815-12-10',
  tags: [1, 2],
};

interface Told {
  readonly types: string;
  readonly natives: readonly (string | undefined)[];
  readonly records: readonly JsonValue[];
  readonly warnings: readonly string[];
}

/** Also holds the records to the types. */
async function told(
  query: string,
  input = TABLE,
  pages: readonly (readonly JsonObject[])[] = [[RECORD]],
  config: JsonObject = {},
): Promise<Told> {
  const env = testEnv({ cwd: folder });
  const checked = check<SqlConfig>(sql.config, { query, ...config });
  if (!checked.ok) throw new Error(checked.issues[0]?.message);
  const transform = await sql.compile(checked.value, { env });
  if (transform.kind !== 'page') throw new Error('sql is a page transform');
  try {
    const schema = (await transform.schemaAfter?.(input)) ?? UNKNOWN_SCHEMA;
    const records: JsonValue[] = [];
    for (const page of pages)
      records.push(
        ...recordsOf(
          await transform.apply(
            page.map((record) => ({ ...record })),
            new AbortController().signal,
            input,
          ),
        ),
      );
    const faults = records.filter(isObject).map((record) => fieldFault(record, schema));
    expect(faults.filter((fault) => fault !== undefined)).toEqual([]);
    return {
      types: schemaText(schema),
      natives: schema.fields.map(({ native }) => native?.name),
      records,
      warnings: env.lines.filter(({ level }) => level === 'WARN').map(({ line }) => line),
    };
  } finally {
    await transform.close?.();
  }
}

test('fields that only pass through keep all that is known of them, and their values', async () => {
  const { types, natives, records } = await told('SELECT * FROM batch WHERE id > 1');
  expect(types).toBe(schemaText(TABLE));
  // The query works with `id`, which is a column of the engine then.
  expect(natives).toEqual(['INTEGER', ...TABLE.fields.slice(1).map((one) => one.native?.name)]);
  expect(records).toEqual([RECORD]);
});

test.each([
  ['SELECT price * 2 AS p, born + 1 AS d FROM batch', 'p: decimal(18, 2), d: date'],
  ['SELECT name AS n, doc AS d, big AS b FROM batch', 'n: utf8, d: json, b: decimal'],
  ['SELECT sum(id) AS s, max(seen) AS m FROM batch', 's: int64, m: timestamp(us, UTC)'],
  ['SELECT octet_length(raw) AS n, len(tags) AS t FROM batch', 'n: int64, t: int64'],
  ["SELECT upper(doc.city) AS c FROM batch WHERE doc.city = 'Bergen'", 'c: utf8'],
  ['SELECT doc.city AS c, id FROM batch', 'id: int32, …'],
  [
    'SELECT b.* EXCLUDE (raw, big, seen, tags, doc), r.rate FROM batch b JOIN r USING (id)',
    'id: int32, price: decimal(12, 2), name: utf8, born: date, rate: float64',
  ],
])('%s', async (query, types) => {
  const values = { columns: ['id', 'rate'], rows: [[7, 0.5]] };
  const relations = query.includes('JOIN r') ? [{ name: 'r', source: { values } }] : [];
  const result = await told(query, TABLE, [[RECORD]], { relations });
  expect([result.types, result.records.length]).toEqual([types, 1]);
});

test('where fields are not known, the columns that do not depend on them have types', async () => {
  const some = { fields: [field('id', 'int64')], others: true };
  const query = 'SELECT id, n, CAST(n AS DECIMAL(10, 2)) AS d, n || id AS t, count(*) OVER () AS c';
  const pages = [[{ id: 1, n: 1 }], [{ id: 2, n: 1.25 }], [{ id: 3, n: null }]];
  const result = await told(`${query} FROM batch`, some, pages);
  expect(result.types).toBe('id: int64, d: decimal(10, 2), t: utf8, c: int64, …');
  expect(result.records[1]).toEqual({ id: 2, n: 1.25, d: '1.25', t: '1.252', c: 1 });
  const star = await told('SELECT *, id + 1 AS next FROM batch', some, [[{ a: 'x', id: 1 }]]);
  expect(star.types).toBe('id: int64, next: int64, …');
  expect(star.records).toEqual([{ a: 'x', id: 1, next: 2 }]);
  expect((await told('SELECT * FROM batch', UNKNOWN_SCHEMA)).types).toBe('…');
});

test('what the engine has no type for passes through as it is', async () => {
  const input = {
    fields: [
      field('born', 'date'),
      field('seen', 'timestamp(us)'),
      field('price', 'decimal(5, 2)'),
    ],
  };
  const record = { born: '0044-03-15 BC', seen: 'infinity', price: 'NaN' };
  expect((await told('SELECT * FROM batch', input, [[record]])).records).toEqual([record]);
});

test('times that are finer than the engine counts are not rounded without a word', async () => {
  const input = { fields: [field('t', 'time')] };
  const query = 'SELECT t + INTERVAL 1 HOUR AS t FROM batch';
  const fine = [{ t: '07:08:09.123456789' }];
  await expect(told(query, input, [fine])).rejects.toThrow(
    'the engine counts microseconds, and "t" has "07:08:09.123456789"',
  );
  const whole = [{ t: '07:08:09.123456000' }];
  expect((await told(query, input, [whole])).records).toEqual([{ t: '08:08:09.123456' }]);
});

test('a query may take a date for the text that it was; others keep their types, and it is said', async () => {
  const query = "SELECT id, price * 2 AS p, born FROM batch WHERE born LIKE '1815-%'";
  const { types, records, warnings } = await told(query);
  expect(types).toBe('id: int32, p: decimal(18, 2), born: utf8');
  expect(records).toEqual([{ id: 7, p: '3.00', born: '1815-12-10' }]);
  expect(warnings).toHaveLength(1);
  expect(warnings[0]).toContain('fields=born ');
});

test('a field of a document can be used as before', async () => {
  const query = "SELECT doc.n + 1 AS n FROM batch WHERE doc.city = 'Bergen' AND seen LIKE '2024%'";
  expect((await told(query)).records).toEqual([{ n: 2 }]);
});

test('the types of files that a query joins are those of the file', async () => {
  writeFileSync(join(folder, 'days.csv'), 'id,day\n7,2024-02-29\n');
  const relations = [{ name: 'days', source: { csv: { path: 'days.csv' } } }];
  const query = 'SELECT id, day FROM batch JOIN days USING (id)';
  const { types, records } = await told(query, TABLE, [[RECORD]], { relations });
  expect([types, records]).toEqual(['id: int32, day: date', [{ id: 7, day: '2024-02-29' }]]);
});

test('documents and lists that only pass through keep their spelling', async () => {
  const input = { fields: [field('id', 'int32'), field('doc', 'json'), field('l', 'list(json)')] };
  const spelled = (text: string) => withSourceText(parseJson(text), text);
  const doc = spelled('{"b": 1.0,  "a": 2}');
  const record = { id: 1, doc, l: [spelled('1.10'), JSON_NULL] };
  const read = async (query: string) => {
    const [out] = (await told(query, input, [[record]])).records;
    return isObject(out) ? [documentText(out['doc'] ?? null), stringifyJson(out['l'] ?? null)] : [];
  };
  const expected = ['{"b": 1.0,  "a": 2}', '[1.10,null]'];
  expect(await read('SELECT * FROM batch')).toEqual(expected);
  expect(await read('SELECT l, doc FROM batch WHERE id = 1 ORDER BY id')).toEqual(expected);
  expect(await read('SELECT b.* FROM (SELECT 1 AS id) o LEFT JOIN batch b USING (id)')).toEqual(
    expected,
  );
});

test('numbers of no known type that only pass through keep how they are written', async () => {
  const lines = [
    '{"id": 1, "n": 1.10, "in": {"x": 2.0}}',
    '{"id": 2, "n": 3, "in": null}',
    '{"id": 3}',
  ];
  const read = async (query: string, pages = [lines]) => {
    const records = pages.map((page) => page.map((line) => parseData(line) as JsonObject));
    return (await told(query, UNKNOWN_SCHEMA, records)).records.map((one) => stringifyJson(one));
  };
  expect(await read('SELECT n AS m, "in", id FROM batch WHERE id < 3 ORDER BY id DESC')).toEqual([
    '{"m":3,"in":null,"id":2}',
    '{"m":1.10,"in":{"x":2.0},"id":1}',
  ]);
  // Where the query works with them they are numbers of the engine.
  expect(await read('SELECT n, n * 2 AS d FROM batch WHERE id = 1')).toEqual(['{"n":1.1,"d":2.2}']);
  const pages = [lines.slice(1), lines.slice(0, 1)];
  expect(await read('SELECT * FROM batch WHERE id <> 3', pages)).toEqual([
    '{"id":2,"n":3,"in":null}',
    '{"id":1,"n":1.10,"in":{"x":2.0}}',
  ]);
});

test.each([
  ['SELECT b.id, b.doc FROM batch b NATURAL JOIN r', [{ id: 7, doc: { city: 'Bergen' } }]],
  ['SELECT b.id, b.doc FROM batch b JOIN r USING (doc)', [{ id: 7, doc: { city: 'Bergen' } }]],
  [
    "SELECT id, doc, to_json(batch)->>'$.doc.city' AS c FROM batch",
    [{ id: 7, doc: { city: 'Bergen' }, c: 'Bergen' }],
  ],
  [
    "SELECT x, y FROM batch AS b(x, y) WHERE CAST(y AS VARCHAR) LIKE '%Bergen%'",
    [{ x: 7, y: { city: 'Bergen' } }],
  ],
])('a document that a query looks at without its name is itself: %s', async (query, expected) => {
  const input = { fields: [field('id', 'int32'), field('doc', 'json')] };
  const page = [{ id: 7, doc: { city: 'Bergen' } }];
  writeFileSync(join(folder, 'r.jsonl'), '{"doc": {"city": "Bergen"}}\n');
  const relations = query.includes(' r')
    ? [{ name: 'r', source: { jsonl: { path: 'r.jsonl' } } }]
    : [];
  expect((await told(query, input, [page], { relations })).records).toEqual(expected);
});

test('a query that compares or orders whole records does so by their values', async () => {
  const input = { fields: [field('price', 'decimal(5, 2)'), field('doc', 'json')] };
  const page = [
    { price: '10.00', doc: { a: 1 } },
    { price: '9.50', doc: { a: 2 } },
    { price: '9.50', doc: { a: 2 } },
  ];
  const ordered = await told('SELECT DISTINCT * FROM batch ORDER BY 1', input, [page]);
  expect(ordered.records).toEqual([page[1], page[0]]);
  expect((await told('SELECT * FROM batch ORDER BY 1', input, [page])).records[0]).toEqual(page[1]);
});
