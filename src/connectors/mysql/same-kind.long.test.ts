/** A copy of a table has the same columns and values, on every way. */
import * as fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { run } from '../../../test/fakes/engine.ts';
import { planOfTree } from '../../../test/fakes/verify.ts';
import { freshMariadb, mariadbOrReason, type FreshMariadb } from '../../../test/servers/mariadb.ts';
import type { JsonObject } from '../../lib/text/json.ts';

/** Each type with SQL values of it. */
const VALUES: Readonly<Record<string, readonly string[]>> = {
  'TINYINT(1)': ['0', '1'],
  TINYINT: ['-128', '127'],
  'TINYINT UNSIGNED': ['0', '255'],
  'SMALLINT UNSIGNED': ['65535'],
  MEDIUMINT: ['-8388608', '8388607'],
  'INT UNSIGNED': ['4294967295', '0'],
  BIGINT: ['9007199254740993', '-9223372036854775808', '9223372036854775807'],
  'BIGINT UNSIGNED': ['18446744073709551615', '0'],
  FLOAT: ['0.1', '16777217', '-3.4e38', '1.17e-38', '0.333333333'],
  DOUBLE: ['0.1', '1e300', '-2.5e-300', '9007199254740993', '0.30000000000000004'],
  'DECIMAL(5,2)': ['1.10', '-999.99', '2'],
  'DECIMAL(65,30)': ['12345678901234567890123456789012345.000000000000000000000000000001'],
  'BIT(1)': ["b'0'", "b'1'"],
  'BIT(64)': ['18446744073709551615', '0', "b'101'"],
  YEAR: ['1901', '2155', '0'],
  DATE: ["'2024-02-29'", "'1000-01-01'", "'9999-12-31'"],
  TIME: ["'07:08:09'", "'-838:59:59'", "'838:59:59'"],
  'TIME(6)': ["'07:08:09.000001'", "'00:00:00'"],
  DATETIME: ["'2024-05-06 07:08:09'", "'9999-12-31 23:59:59'", "'0000-00-00 00:00:00'"],
  'DATETIME(6)': ["'2024-05-06 07:08:09.123456'", "'1000-01-01 00:00:00'"],
  'TIMESTAMP(3) NULL': ["'2024-05-06 07:08:09.123'", "'1970-01-01 00:00:01'"],
  'VARCHAR(20)': ["'1.10'", "''", "'null'", "' 12'", "'it''s'", "'a\\\\b\\tc\\nd\\re'", "'\\0'"],
  'CHAR(5)': ["'x'", "''"],
  LONGTEXT: ["'\\\\N'", "'🐘 é'", '\'{"a": 1}\'', "'\\f\\b\\Z'", "REPEAT('x', 70000)"],
  'VARBINARY(20)': ["X'00ff0a095c27'", "''", "X'414141'"],
  LONGBLOB: ["X'00'", "REPEAT(X'ff0a', 40000)"],
  JSON: ['\'{"b": 1.0,  "a": 9007199254740993}\'', "'null'", '\'"x"\'', "'1.10'", "'[]'"],
  UUID: ["'0189c0de-0000-7000-8000-000000000000'"],
  INET6: ["'2001:db8::ff00:42:8329'"],
  POINT: ["ST_GeomFromText('POINT(1 2.5)')"],
};

const column = fc.constantFrom(...Object.keys(VALUES)).chain((type) =>
  fc.record({
    type: fc.constant(type),
    values: fc.array(fc.constantFrom('NULL', ...(VALUES[type] ?? [])), {
      minLength: 5,
      maxLength: 5,
    }),
  }),
);
const table = fc.array(column, { minLength: 1, maxLength: 6 });

interface Way {
  readonly sink?: JsonObject;
  readonly transforms?: JsonObject[];
  readonly batch?: number;
}

const ways: Readonly<Record<string, Way>> = {
  'no stage': {},
  'INSERT statements': { sink: { write_method: 'insert' } },
  'LOAD DATA': { sink: { write_method: 'load' } },
  'pages of two rows': { batch: 2, sink: { write_method: 'load' } },
  'a filter that keeps all': {
    transforms: [{ type: 'filter', config: { path: 'id', op: 'exists' } }],
    sink: { write_method: 'load' },
  },
  overwrite: { sink: { write_mode: 'overwrite' } },
  upsert: { sink: { write_mode: 'upsert', key: ['id'] } },
};

interface Made {
  readonly type: string;
  readonly values: readonly string[];
}

const ROWS = [0, 1, 2, 3, 4];

const { reason } = mariadbOrReason();

describe.skipIf(reason !== undefined)(`copies of MySQL tables ${reason ?? ''}`, () => {
  let database: FreshMariadb;
  let made = 0;
  beforeAll(async () => {
    database = await freshMariadb();
    await database.client.query(
      "SET SESSION sql_mode = 'STRICT_ALL_TABLES', time_zone = '+00:00', group_concat_max_len = 1000000",
    );
  });
  afterAll(() => database.drop());

  /** Types and digests of all values, worked out by the server. */
  const digest = async (name: string, { types }: { types: boolean }): Promise<unknown[]> => {
    const [columns] = await database.client.query(
      `SELECT COLUMN_NAME AS name, COLUMN_TYPE AS type FROM information_schema.COLUMNS
       WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = '${name}' ORDER BY ORDINAL_POSITION`,
    );
    const names = (columns as { name: string }[]).map((one) => one.name);
    const digests = names.map(
      (one) => `COALESCE(SHA2(CONCAT('v', BINARY ${one}), 256), 'null') AS ${one}`,
    );
    const exact = names.map((one) => `HEX(${one}) AS h_${one}`);
    const [rows] = await database.client.query(
      `SELECT ${[...digests, ...exact].join(', ')} FROM ${name} ORDER BY id`,
    );
    return [types ? columns : names, rows];
  };

  const copied = async (columns: readonly Made[], { sink, transforms, batch }: Way) => {
    made += 1;
    const [from, into] = [`f${made}`, `i${made}`];
    const lines = columns.map(({ type }, index) => `c${index} ${type}`);
    const rows = ROWS.map(
      (row) => `(${[row, ...columns.map(({ values }) => values[row] ?? 'NULL')].join(', ')})`,
    );
    await database.client.query(
      `CREATE TABLE ${from} (id INT PRIMARY KEY, ${lines.join(', ')}); INSERT INTO ${from} VALUES ${rows.join(', ')}`,
    );
    const document = (target: string): JsonObject => ({
      pipeline: {
        source: {
          type: 'mysql',
          config: {
            connection_url: database.url,
            query: `SELECT * FROM ${from} ORDER BY id`,
            ...(batch === undefined ? {} : { batch_size: batch }),
          },
        },
        ...(transforms === undefined ? {} : { transforms }),
        sink: {
          type: 'mysql',
          config: {
            connection_url: database.url,
            table_name: target,
            column_mapping: 'auto_map',
            ...sink,
          },
        },
      },
    });
    // Into a table that the sink makes, and into one that is there.
    await database.client.query(`CREATE TABLE e${made} LIKE ${from}`);
    for (const [target, types] of [
      [into, false],
      [`e${made}`, true],
    ] as const) {
      const outcome = await run(planOfTree(document(target)));
      expect(outcome.error).toBeNull();
      expect(await digest(target, { types })).toEqual(await digest(from, { types }));
    }
    await database.client.query(`DROP TABLE ${from}, ${into}, e${made}`);
  };

  test('all types at once', async () => {
    const all = Object.entries(VALUES).map(([type, values]) => ({ type, values }));
    await copied(all, {});
  });

  test.each(Object.entries(ways))('through %s', { timeout: 60_000 }, async (_name, way) => {
    await fc.assert(
      fc.asyncProperty(table, (columns) => copied(columns, way)),
      { numRuns: 8 },
    );
  });
});
