import { createHash } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { testContext } from '../../../test/fakes/env.ts';
import { failureOf } from '../../../test/fakes/failure.ts';
import { readAll } from '../../../test/fakes/read-all.ts';
import { freshMariadb, mariadbOrReason, type FreshMariadb } from '../../../test/servers/mariadb.ts';
import type { SourceContext } from '../../kit/context.ts';
import { JSON_LINES } from '../../kit/json-lines.ts';
import { RECORDS_LANE, type Lane } from '../../kit/page.ts';
import { check } from '../../kit/schema.ts';
import type { JsonObject, JsonValue } from '../../lib/text/json.ts';
import { mysqlSource } from './index.ts';
import { serverTime } from './read/literals.ts';

const { reason } = mariadbOrReason();

const LINES: Lane = { form: 'bytes', encoding: JSON_LINES.name };

let database: FreshMariadb;

function checked(config: JsonObject) {
  return check(mysqlSource.config, { connection_url: 'mysql://u:p@h/d', ...config });
}

function configOf(config: JsonObject) {
  const result = checked({ connection_url: database.url, ...config });
  if (!result.ok) throw new Error(JSON.stringify(result.issues));
  return result.value;
}

async function read(
  config: JsonObject,
  { bookmark, ...context }: Partial<SourceContext> & { bookmark?: JsonValue | undefined } = {},
): Promise<{ records: JsonValue[]; bookmark: JsonValue | undefined }> {
  const source = await mysqlSource.open(configOf(config), testContext('/', context));
  const pages = await readAll(source, bookmark === undefined ? {} : { bookmark });
  return {
    records: pages.flatMap((page) => [...page.records()]),
    bookmark: pages.at(-1)?.bookmark ?? bookmark,
  };
}

describe('the config of the mysql source', () => {
  test.each([
    ['SELECT @bookmark', {}, /@bookmark needs/],
    [
      'SELECT * FROM t WHERE a > @bookmark',
      { replication: { type: 'incremental', column: 'a', initial_value: 0 } },
      /compared with >/,
    ],
    ['SELECT ?', {}, /has 1 placeholder/],
    ['SELECT \'?\', `?`, "?" # ?\n -- ?\n /* ? */', { params: [1] }, /has 0 placeholders/],
    ["SELECT 'a ${p.x}'", {}, /inside a longer text/],
    ['SELECT `${p.x}`', {}, /inside a longer text/],
  ])('%s is refused', (query, more, message) => {
    const result = checked({ query, ...more });
    expect(result.ok ? [] : result.issues.map((issue) => issue.message)).toEqual([
      expect.stringMatching(message),
    ]);
  });

  test.each(['postgres://h/d', 'mysql://h/d?sslmode=on', 'mysql://h/d?ssl-mode=perhaps', 'h/d'])(
    'the address %s is refused without being shown',
    (url) => {
      const result = checked({ connection_url: url, query: 'SELECT 1' });
      expect(result.ok).toBe(false);
      expect(JSON.stringify(result)).not.toContain('h/d');
    },
  );
});

test.each([
  ['2024-05-06T07:08:09Z', '2024-05-06 07:08:09'],
  ['2024-05-06T07:08:09.123456789+02:00', '2024-05-06 05:08:09.123456789'],
  ['2024-05-06 07:08:09.5', '2024-05-06 07:08:09.5'],
  ['2024-05-06', '2024-05-06'],
  ['0000-00-00T00:00:00Z', '0000-00-00 00:00:00'],
])('the server is sent %s as %s', (text, expected) => expect(serverTime(text)).toBe(expected));

describe.skipIf(reason !== undefined)(`the mysql source ${reason ?? ''}`, () => {
  beforeAll(async () => {
    database = await freshMariadb();
    await database.client.query(`
      CREATE TABLE ticks (at DATETIME(3), v INT);
      INSERT INTO ticks VALUES ('2024-05-06 07:00:01', 1), ('2024-05-06 07:00:02.5', 2),
        ('2024-05-06 07:00:02.5', 3), (NULL, 4);
      CREATE TABLE names (id INT, name VARCHAR(40));
      INSERT INTO names VALUES (1, "it's"), (2, '\\\\'), (3, '1 OR 1=1')`);
  });
  afterAll(() => database.drop());

  test.each<[string, JsonValue]>([
    ['CAST(18446744073709551615 AS UNSIGNED)', 18446744073709551615n],
    ['1.50', '1.50'],
    ['1e0 / 3', 1 / 3],
    ['TRUE', 1],
    ["CAST('2024-02-29' AS DATE)", '2024-02-29'],
    ["TIMESTAMP('2024-05-06 07:08:09')", '2024-05-06T07:08:09Z'],
    ["CAST('-20:00:00' AS TIME)", '-20:00:00'],
    ["UNHEX('00ff')", 'AP8='],
    ["b'101' + 0", 5],
    ["JSON_OBJECT('a', 9007199254740993)", { a: 9007199254740993n }],
    ['NULL', null],
    ["''", ''],
  ])('%s keeps its value', async (sql, expected) => {
    expect((await read({ query: `SELECT ${sql} AS x` })).records).toEqual([{ x: expected }]);
  });

  test('a truth value that is another number ends the run', async () => {
    await database.client.query(
      'CREATE TABLE truths (t TINYINT(1)); INSERT INTO truths VALUES (5)',
    );
    const failure = await failureOf(read({ query: 'SELECT t FROM truths' }));
    expect(failure.message).toMatch(/`t` is tinyint\(1\), a truth value, and holds 5/);
    expect((await read({ query: 'SELECT t + 0 AS t FROM truths' })).records).toEqual([{ t: 5 }]);
  });

  test('values are bound, whatever they hold and whatever the SQL mode', async () => {
    const query = 'SELECT id FROM names WHERE name IN (?, ?, ${p.name}) ORDER BY id';
    const bound = {
      query,
      params: ["it's", '\\'],
    };
    const context = { records: new Map([['p', { name: '1 OR 1=1' }]]) };
    expect((await read(bound, context)).records).toEqual([{ id: 1 }, { id: 2 }, { id: 3 }]);
    await database.client.query(
      "SET @@GLOBAL.sql_mode = CONCAT(@@GLOBAL.sql_mode, ',NO_BACKSLASH_ESCAPES')",
    );
    try {
      expect((await read(bound, context)).records).toHaveLength(3);
    } finally {
      await database.client.query('SET @@GLOBAL.sql_mode = DEFAULT');
    }
  });

  test.each<JsonValue>([
    'full',
    'Full',
    null,
    { type: 'FULL' },
    { type: 'Incremental', column: 'id', initial_value: 0 },
    { type: 'incremental', config: { column: 'id', initial_value: 0 } },
  ])('%j says how it replicates', (replication) => {
    const result = checked({ query: 'SELECT * FROM ticks', replication });
    const isIncremental = /incremental/i.test(JSON.stringify(replication));
    expect(result.ok && result.value.replication.type).toBe(isIncremental ? 'incremental' : 'full');
  });

  test('rows that come later with the last instant are read, and none twice', async () => {
    const config = {
      query: 'SELECT * FROM ticks',
      replication: { type: 'incremental', column: 'at', initial_value: '2024-05-06T07:00:02Z' },
    };
    const first = await read(config);
    expect(first.records).toEqual([
      { at: '2024-05-06T07:00:02.500Z', v: 2 },
      { at: '2024-05-06T07:00:02.500Z', v: 3 },
    ]);
    await database.client.query("INSERT INTO ticks VALUES ('2024-05-06 07:00:02.5', 5)");
    const second = await read(config, { bookmark: first.bookmark });
    expect(second.records).toEqual([{ at: '2024-05-06T07:00:02.500Z', v: 5 }]);
    expect((await read(config, { bookmark: second.bookmark })).records).toEqual([]);
    const named = { ...config, query: 'SELECT * FROM ticks WHERE at >= @bookmark' };
    expect((await read(named, { bookmark: first.bookmark })).records).toHaveLength(1);
  });

  test.each([
    ['DELETE FROM names', /READ ONLY/],
    ['SELECT 1; SELECT 2', /SQL syntax/],
    ['DO 1', /gives no rows/],
    ['SELECT 1 AS a, 2 AS a', /two columns called "a"/],
  ])('%s is refused', async (query, message) => {
    expect((await failureOf(read({ query }))).message).toMatch(message);
  });

  test.each<Lane>([RECORDS_LANE, LINES])(
    'a connection that breaks ends the read at once: %o',
    async (lane) => {
      const context = testContext('/', {});
      const config = configOf({
        query: 'SELECT seq, REPEAT("x", 1000) AS pad FROM seq_1_to_1000000',
        batch_size: 100,
      });
      const source = await mysqlSource.open(config, context);
      const pages = source.pages({ lane })[Symbol.asyncIterator]();
      await pages.next();
      const [rows] = await database.client.query(
        "SELECT ID FROM information_schema.PROCESSLIST WHERE INFO LIKE 'SELECT seq, REPEAT%'",
      );
      for (const { ID } of rows as { ID: number }[]) await database.client.query(`KILL ${ID}`);
      const started = Date.now();
      const failure = await failureOf(
        (async () => {
          for (;;) if ((await pages.next()).done === true) return;
        })(),
      );
      expect(failure).toMatchObject({ kind: 'connection' });
      expect(Date.now() - started).toBeLessThan(5000);
      await source.close();
    },
  );

  test.each([
    [
      'a row of several packets',
      `SELECT REPEAT(CONCAT(REPEAT('x', 990), '\\té"'), 9000) AS a, REPEAT('1234567890', 900000) AS b, 1 AS n`,
      0,
    ],
    [
      'many rows, which wait for a slow reader',
      'SELECT seq, REPEAT("x", 500) AS pad FROM seq_1_to_20000',
      3,
    ],
  ])('%s: lines are those of records', async (_name, query, pause) => {
    const textOf = async (lane: Lane): Promise<string> => {
      const source = await mysqlSource.open(configOf({ query, batch_size: 700 }), testContext('/'));
      const hash = createHash('sha256');
      try {
        for await (const page of source.pages({ lane })) {
          hash.update(page.block(JSON_LINES));
          page.release();
          await setTimeout(pause);
        }
      } finally {
        await source.close();
      }
      return hash.digest('hex');
    };
    expect(await textOf(LINES)).toBe(await textOf(RECORDS_LANE));
  });

  test('as lines, a slow server is waited for from row to row, and no longer', async () => {
    const config = configOf({
      query: 'SELECT seq, SLEEP(IF(seq < 4, 0.7, 3)) AS s, REPEAT("x", 17000) AS x FROM seq_1_to_4',
      read_timeout_secs: 2,
    });
    const source = await mysqlSource.open(config, testContext('/'));
    const started = Date.now();
    const failure = await failureOf(
      (async () => {
        for await (const page of source.pages({ lane: LINES })) page.release();
      })(),
    );
    await source.close();
    expect(failure).toMatchObject({ kind: 'timeout' });
    expect(Date.now() - started).toBeGreaterThan(3900);
  });

  test('tables are found with the types of their columns', async () => {
    await database.client.query(
      'CREATE TABLE `od``d` (id BIGINT NOT NULL, ok TINYINT(1), price DECIMAL(5,2), name TEXT)',
    );
    const found = (
      await mysqlSource.discover?.(configOf({ query: 'SELECT 1' }), testContext('/'))
    )?.find(({ name }) => name === 'od`d');
    expect(found).toMatchObject({
      kind: 'table',
      config_patch: { query: 'SELECT * FROM `od``d`' },
      schema: {
        properties: {
          id: { type: 'integer' },
          ok: { type: ['boolean', 'null'] },
          price: { type: ['number', 'null'] },
          name: { type: ['string', 'null'] },
        },
      },
    });
  });
});
