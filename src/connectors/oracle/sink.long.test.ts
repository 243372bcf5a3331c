import { afterAll, describe, expect, test } from 'vitest';
import { sqlSinkSuite } from '../../../test/conformance/sql-sink.ts';
import { testContext } from '../../../test/fakes/env.ts';
import { readAll } from '../../../test/fakes/read-all.ts';
import { startFakeOracle } from '../../../test/servers/oracle.ts';
import { Page } from '../../kit/page.ts';
import type { RecordSchema } from '../../kit/record-schema.ts';
import { check } from '../../kit/schema.ts';
import type { JsonObject, JsonValue } from '../../lib/text/json.ts';
import { sqlPieces } from '../_sql/sql-text.ts';
import { Link } from './connection.ts';
import { oracleSink, oracleSource } from './index.ts';

const server = await startFakeOracle();
const { connection } = server;
let tables = 0;
const table = (): string => `T${(tables += 1)}`;

async function exec(sql: string): Promise<void> {
  const link = await Link.open(connection, { timeoutSecs: 30 });
  try {
    await link.run(inOracle(sql));
    await link.commit();
  } finally {
    link.close();
  }
}

/** The shared suite writes types and catalogs as the standard does. */
function inOracle(sql: string): string {
  return sqlPieces(sql)
    .map(({ kind, text }) =>
      kind === 'code'
        ? text
            .replaceAll(/CAST\(data AS text\)/g, 'JSON_SERIALIZE(data)')
            .replaceAll(/CAST\(id AS text\)/g, 'TO_CHAR(id)')
            .replaceAll(/\bTEXT\b/g, 'VARCHAR2(4000)')
            .replaceAll(/\bDECIMAL\b/g, 'NUMBER')
            .replace('information_schema.tables', 'all_tables')
        : text.replace(/^"T\d+_json"$/, (name) => name.toUpperCase()),
    )
    .join('');
}

/** Names that need no quotes in small letters, as documents have them. */
function asWritten(record: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(record).map(([name, value]) => [
      /^[A-Z][A-Z0-9_]*$/.test(name) ? name.toLowerCase() : name,
      typeof value === 'string' && /^-?\d{1,15}(?:\.\d+)?$/.test(value) && name !== 'V'
        ? Number(value)
        : value,
    ]),
  );
}

async function read(sql: string): Promise<JsonObject[]> {
  const checked = check(oracleSource.config, { ...connection, query: sql });
  if (!checked.ok) throw new Error(JSON.stringify(checked.issues));
  const pages = await readAll(await oracleSource.open(checked.value, testContext('/')), {});
  return pages.flatMap((page) => page.records() as JsonObject[]);
}

async function query(sql: string): Promise<JsonObject[]> {
  return (await read(inOracle(sql))).map(asWritten);
}

function configOf(config: JsonObject) {
  const checked = check(oracleSink.config, {
    ...connection,
    column_mapping: 'auto_map',
    ...config,
  });
  if (!checked.ok) throw new Error(JSON.stringify(checked.issues));
  return checked.value;
}

async function write(
  config: JsonObject,
  pages: readonly (readonly JsonValue[])[],
  schema?: RecordSchema,
): Promise<ReadonlyMap<string, number> | undefined> {
  const sink = await oracleSink.open(configOf(config), testContext('/'));
  let rounded: ReadonlyMap<string, number> | undefined;
  try {
    for (const page of pages)
      ({ roundedFields: rounded } = await sink.write(Page.ofRecords(page, { schema }), {
        partial: false,
      }));
    await sink.flush();
    await sink.finish('success');
  } finally {
    await sink.close();
  }
  return rounded;
}

afterAll(() => server.close());

describe('the oracle sink', () => {
  sqlSinkSuite({
    definition: oracleSink,
    connection: { ...connection },
    mappingByDefault: 'auto',
    table,
    exec,
    query,
  });

  test('values of all types keep their digits', async () => {
    const name = table();
    await exec(
      `CREATE TABLE ${name} (id NUMBER(9), n NUMBER, d NUMBER(38,10), f BINARY_DOUBLE, r BINARY_FLOAT, b BOOLEAN, da DATE, ts TIMESTAMP(9),
       tz TIMESTAMP(9) WITH TIME ZONE, ltz TIMESTAMP(9) WITH LOCAL TIME ZONE, ym INTERVAL YEAR(4) TO MONTH, ds INTERVAL DAY(2) TO SECOND(9), ra RAW(20), bl BLOB, j JSON)`,
    );
    const record = {
      ID: 1,
      N: '-12345678901234567890123456789012345678',
      D: '-1234567890123456789012345678.0123456789',
      F: 0.1,
      R: 0.1,
      B: true,
      DA: '2024-05-06T07:08:09',
      TS: '2024-05-06T07:08:09.123456789',
      TZ: '2024-05-06T05:08:09.123456789Z',
      LTZ: '2024-05-06T05:08:09.123456789Z',
      YM: 'P-2Y-3M',
      DS: 'P5DT4H3M2.000000001S',
      RA: 'AAEJCl//',
      BL: 'AAEJCl//',
      J: { a: [1, 'x', null] },
    };
    const others = {
      ...record,
      ID: 2,
      N: 1e30,
      F: 'NaN',
      R: '-Infinity',
      B: 'false',
      DA: '2024-05-06',
      TS: '2024-05-06 09:08:09+02:00',
      TZ: '2024-05-06T07:08:09.123456789+02:00',
      YM: '-P2Y3M',
    };
    await write({ table: name }, [[record, others]]);
    expect(await read(`SELECT * FROM ${name} ORDER BY id`)).toEqual([
      record,
      {
        ...record,
        ID: 2,
        N: '1000000000000000019884624838656',
        F: 'NaN',
        R: '-Infinity',
        B: false,
        DA: '2024-05-06T00:00:00',
        TS: '2024-05-06T07:08:09.000000000',
      },
    ]);
  });

  test.each([
    ['n', '12abc', 'not a number'],
    ['d', '05/06/2024', 'not a date'],
    ['ts', '06.05.2024 07:08', 'not a time'],
    ['ym', 'P3D', 'not a duration'],
    ['ra', 'not base64', 'not base64'],
    ['b', 'perhaps', 'not true or false'],
  ])(
    '%s: %o, which the server would read by its settings, is refused',
    async (field, value, message) => {
      const name = table();
      await exec(
        `CREATE TABLE ${name} (id NUMBER, n NUMBER, d DATE, ts TIMESTAMP, ym INTERVAL YEAR TO MONTH, ra RAW(10), b BOOLEAN)`,
      );
      await expect(
        write({ table: name }, [[{ id: 1 }, { id: 2, [field]: value }]]),
      ).rejects.toThrow(message);
      expect(await read(`SELECT id FROM ${name}`)).toEqual([]);
    },
  );

  test('an empty text, which is null in Oracle, is counted, refused where rounding is, and never a key', async () => {
    const name = table();
    const records = [
      { id: 'a', v: '' },
      { id: 'b', v: 'x' },
    ];
    const keyed = { table: name, write_mode: 'upsert', key: ['id'] };
    expect([...((await write(keyed, [records])) ?? [])]).toEqual([['v', 1]]);
    expect(await read(`SELECT id, v FROM ${name} ORDER BY id`)).toEqual([
      { ID: 'a', V: null },
      { ID: 'b', V: 'x' },
    ]);
    await expect(write({ ...keyed, on_rounding: 'error' }, [records])).rejects.toThrow(/`v`/);
    await expect(write(keyed, [[{ id: '', v: 'x' }]])).rejects.toThrow(/empty text is null/);
  });

  test('long texts and bytes are written in every mode', async () => {
    const long = { text: 'é'.repeat(40_000), bytes: Buffer.alloc(50_000, 7).toString('base64') };
    const records = [
      { id: 1, ...long },
      { id: 2, text: 'short', bytes: 'AAE=' },
    ];
    const schema: RecordSchema = {
      fields: [
        { name: 'id', type: { kind: 'int64' }, nullable: false },
        { name: 'text', type: { kind: 'utf8' }, nullable: true },
        { name: 'bytes', type: { kind: 'binary' }, nullable: true },
      ],
    };
    const modes: readonly JsonObject[] = [
      {},
      { write_mode: 'upsert', key: ['id'] },
      { write_mode: 'overwrite' },
    ];
    for (const how of modes) {
      const name = table();
      await write({ table: name, ...how }, [records], schema);
      const found = await read(`SELECT * FROM ${name} ORDER BY id`);
      expect(found.map(({ TEXT: text, BYTES: bytes }) => ({ text, bytes }))).toEqual(
        records.map(({ text, bytes }) => ({ text, bytes })),
      );
    }
  });

  test('names mean capital letters unless they are quoted, in tables and columns', async () => {
    const name = table();
    await write({ table: name.toLowerCase() }, [[{ id: 1, userId: 2, 'a b': 3 }]]);
    const [found] = await read(`SELECT * FROM ${name}`);
    expect(Object.keys(found ?? {})).toEqual(['ID', 'USERID', 'a b']);
    await write({ table: `"${name.toLowerCase()}"` }, [[{ id: 5 }]]);
    expect(await read(`SELECT id FROM "${name.toLowerCase()}"`)).toEqual([{ ID: '5' }]);
    await write({ table: name, write_mode: 'delete', key: ['ID'] }, [[{ ID: 1 }]]);
    expect(await read(`SELECT id FROM ${name}`)).toEqual([]);
  });

  test('a deadlock is tried again, once the transaction is rolled back', async () => {
    const name = table();
    await write({ table: name }, [[{ id: 0 }]]);
    let left = 2;
    server.watch((statement) => {
      if (!statement.startsWith('INSERT INTO') || left === 0) return undefined;
      left -= 1;
      return 60;
    });
    await write({ table: name }, [[{ id: 1 }]]).finally(() => server.watch(undefined));
    expect([left, (await read(`SELECT id FROM ${name}`)).length]).toEqual([0, 2]);
  });

  test.each([2091, 'cut'] as const)(
    'a page whose commit fails (%s) is not told as written',
    async (how) => {
      const name = table();
      await write({ table: name }, [[{ id: 0 }]]);
      server.watch((statement) => (statement === 'COMMIT' ? how : undefined));
      const failed = write({ table: name }, [[{ id: 1 }]]).finally(() => server.watch(undefined));
      await expect(failed).rejects.toThrow(how === 'cut' ? /closed or broken/ : /ORA-02091/);
      expect(await read(`SELECT id FROM ${name}`)).toHaveLength(1);
    },
  );

  test('an identity column is left to the server, and a computed one is not written', async () => {
    const name = table();
    await exec(
      `CREATE TABLE ${name} (id NUMBER(9) GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY, v NUMBER(9), twice NUMBER GENERATED ALWAYS AS (v * 2))`,
    );
    await write({ table: name }, [[{ id: 70, v: 4, twice: 1 }]]);
    expect(await read(`SELECT id, v, twice FROM ${name}`)).toEqual([{ ID: 1, V: 4, TWICE: '8' }]);
  });

  test('a missing right is told before a run', async () => {
    const name = table();
    await server.behind.query(
      `CREATE SCHEMA "SALES"; CREATE TABLE "SALES"."${name}" ("ID" numeric)`,
    );
    await server.behind.query(
      `INSERT INTO ora.written_types SELECT '"SALES"."${name}"'::regclass, 'ID', 'NUMBER'`,
    );
    await server.behind.query(`INSERT INTO ora.granted VALUES ('SALES', '${name}', 'SELECT')`);
    const findings = await oracleSink.probe?.(
      configOf({ table: `sales.${name}` }),
      testContext('/'),
    );
    expect(findings?.map(({ name: of, status }) => [of, status])).toEqual([
      ['auth', 'pass'],
      ['schema', 'fail'],
    ]);
    expect(JSON.stringify(findings)).toContain('no right to INSERT');
  });
});
