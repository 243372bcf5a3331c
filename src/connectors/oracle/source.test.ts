import { afterAll, describe, expect, test } from 'vitest';
import { testContext } from '../../../test/fakes/env.ts';
import { failureOf } from '../../../test/fakes/failure.ts';
import { readAll } from '../../../test/fakes/read-all.ts';
import { startFakeOracle } from '../../../test/servers/oracle.ts';
import { check } from '../../kit/schema.ts';
import type { JsonObject } from '../../lib/text/json.ts';
import { Link } from './connection.ts';
import { oracleSource } from './index.ts';

const server = await startFakeOracle();
const { connection } = server;

async function exec(...statements: readonly string[]): Promise<void> {
  const link = await Link.open(connection, { timeoutSecs: 30 });
  try {
    for (const one of statements) await link.run(one);
    await link.commit();
  } finally {
    link.close();
  }
}

function configOf(config: JsonObject) {
  const checked = check(oracleSource.config, { ...connection, ...config });
  if (!checked.ok) throw new Error(JSON.stringify(checked.issues));
  return checked.value;
}

async function read(
  config: JsonObject,
  {
    context = testContext('/'),
    bookmark,
  }: { context?: ReturnType<typeof testContext>; bookmark?: JsonObject } = {},
) {
  const source = await oracleSource.open(configOf(config), context);
  const pages = await readAll(source, bookmark === undefined ? {} : { bookmark });
  return {
    records: pages.flatMap((page) => page.records() as JsonObject[]),
    schema: pages[0]?.schema,
    bookmark: pages.at(-1)?.bookmark,
  };
}

afterAll(() => server.close());

describe('the oracle source', () => {
  test('values for a query are bound, whatever they hold', async () => {
    const { records } = await read(
      {
        query:
          "SELECT :1 AS a, :2 AS b, '{city}' AS c, {n} AS d, ':1 it''s' AS e FROM DUAL WHERE :1 IS NOT NULL -- :7",
        params: ["x' OR 'a'='a", 12_345_678_901_234_567_890n],
      },
      { context: testContext('/', { parent: { city: "O'Hare", n: 1.5 } }) },
    );
    expect(records).toEqual([
      {
        A: "x' OR 'a'='a",
        B: '12345678901234567890',
        C: "O'Hare",
        D: '1.5',
        E: ":1 it's",
      },
    ]);
  });

  test('numbers are integers where all of their values are, and decimals with their digits otherwise', async () => {
    await exec(
      'CREATE TABLE numbers (a NUMBER(9), b NUMBER(18), c NUMBER(19), d NUMBER(5,-2), e NUMBER(2,5), f FLOAT, g NUMBER)',
      "INSERT INTO numbers VALUES (1, 999999999999999999, 1, 12300, TO_NUMBER('0.00012'), TO_NUMBER('0.5'), TO_NUMBER('-0.000000000000000000000000000000000000001'))",
    );
    const { records, schema } = await read({ query: 'SELECT * FROM numbers' });
    expect(records).toEqual([
      {
        A: 1,
        B: 999_999_999_999_999_999n,
        C: '1',
        D: 12_300,
        E: '0.00012',
        F: '0.5',
        G: '-0.000000000000000000000000000000000000001',
      },
    ]);
    expect(schema?.fields.map(({ type }) => type)).toEqual([
      { kind: 'int32' },
      { kind: 'int64' },
      { kind: 'decimal', precision: 19, scale: 0 },
      { kind: 'int32' },
      { kind: 'decimal', precision: 5, scale: 5 },
      { kind: 'decimal' },
      { kind: 'decimal' },
    ]);
  });

  test('columns of JSON are values, and what is no JSON is told', async () => {
    await exec(
      'CREATE TABLE documents (id NUMBER(9), t CLOB, n NUMBER)',
      `INSERT INTO documents VALUES (1, '{"a": [1, 12345678901234567890.5]}', 1)`,
      `INSERT INTO documents VALUES (2, 'plain', 2)`,
    );
    const found = await read({
      query: 'SELECT t FROM documents WHERE id = 1',
      json_columns: ['t'],
    });
    expect(found.records).toEqual([{ T: { a: [1, '12345678901234567890.5'] } }]);
    const failed = await failureOf(read({ query: 'SELECT t FROM documents', json_columns: ['t'] }));
    expect(failed.message).toContain('a value of `T` is no JSON');
    const wrong = await failureOf(read({ query: 'SELECT n FROM documents', json_columns: ['n'] }));
    expect(wrong.message).toContain('which is no text');
  });

  test('rows that come later with the last value are read, and no others again', async () => {
    await exec(
      'CREATE TABLE changes (id NUMBER(9), at TIMESTAMP(9))',
      ...[1, 2].map(
        (id) => `INSERT INTO changes VALUES (${id}, ${moment('2024-05-06T07:08:09.123456789')})`,
      ),
    );
    const config = {
      query: 'SELECT * FROM changes',
      replication: { type: 'incremental', column: 'at', initial_value: '2024-01-01' },
    };
    const first = await read(config);
    expect(first.records.map(({ ID: id }) => id)).toEqual([1, 2]);
    await exec(
      `INSERT INTO changes VALUES (3, ${moment('2024-05-06T07:08:09.123456789')})`,
      `INSERT INTO changes VALUES (4, ${moment('2024-05-06T07:08:09.123456790')})`,
      `INSERT INTO changes VALUES (5, ${moment('2024-05-06T07:08:09.123456788')})`,
    );
    const second = await read(config, { bookmark: first.bookmark as JsonObject });
    expect(second.records.map(({ ID: id }) => id)).toEqual([3, 4]);
  });

  test('all rows of a large result come, in pieces', async () => {
    await exec('CREATE TABLE many (id NUMBER(9), t VARCHAR2(100))');
    await server.behind.query(
      `INSERT INTO "MANY" SELECT n, repeat('x', n % 100) FROM generate_series(1, 3001) AS g (n)`,
    );
    const { records } = await read({ query: 'SELECT * FROM many ORDER BY id', batch_size: 700 });
    expect(records).toHaveLength(3001);
    expect(records.at(-1)).toEqual({ ID: 3001, T: 'x' });
  });

  test('discovery lists the tables with their columns', async () => {
    await exec('CREATE TABLE found (id NUMBER(9) NOT NULL, name VARCHAR2(10), price NUMBER(8,2))');
    const all = await oracleSource.discover?.(
      configOf({ query: 'SELECT 1 FROM DUAL' }),
      testContext('/'),
    );
    const one = all?.find(({ name }) => name === 'TESTER.FOUND');
    expect(one).toMatchObject({
      kind: 'table',
      schema: {
        properties: {
          ID: { type: 'integer' },
          NAME: { type: ['string', 'null'] },
          PRICE: { type: ['number', 'null'] },
        },
      },
      config_patch: { query: 'SELECT * FROM "TESTER"."FOUND"' },
    });
  });

  test('a server that does not answer is given up', async () => {
    server.watch((statement) =>
      statement.includes('FROM silent') ? new Promise<undefined>(() => {}) : undefined,
    );
    const started = performance.now();
    const error = await failureOf(
      read({ query: 'SELECT 1 AS a FROM silent', statement_timeout_secs: 1 }),
    ).finally(() => server.watch(undefined));
    expect(error).toEqual({ kind: 'timeout', message: 'no answer came for 1 seconds' });
    expect(performance.now() - started).toBeLessThan(20_000);
  });
});

function moment(text: string): string {
  return `TO_TIMESTAMP('${text}', 'YYYY-MM-DD"T"HH24:MI:SS.FF9')`;
}
