import { describe, expect, test } from 'vitest';
import type { ZodType } from 'zod';
import { check } from '../../kit/schema.ts';
import type { JsonObject } from '../../lib/text/json.ts';
import { parseMssqlString, parseMssqlUrl } from '../_mssql/address.ts';
import { exactValue } from '../_mssql/exact-values.ts';
import { parseTable } from '../_mssql/quote.ts';
import { mssqlSink, mssqlSource } from './index.ts';
import { compileQuery, within } from './read/query.ts';

const URL = 'mssql://u:p@h/d';

function issuesOf({ config: schema }: { readonly config: ZodType }, config: JsonObject): string[] {
  const checked = check(schema, config);
  return checked.ok ? [] : checked.issues.map(({ path, message }) => `${path}: ${message}`);
}

describe('addresses of SQL Server', () => {
  test('an address has host, port, database and login', () => {
    expect(parseMssqlUrl('sqlserver://me:p%40ss@db.example/shop')).toMatchObject({
      host: 'db.example',
      port: 1433,
      database: 'shop',
      login: { type: 'password', user: 'me', password: 'p@ss' },
      tls: undefined,
    });
  });

  test('a connection string as Azure writes it is read', () => {
    const text =
      'Server=tcp:x.database.windows.net,1433;Initial Catalog=shop;Persist Security Info=False;User ID=me;Password="a;b""c";MultipleActiveResultSets=False;Encrypt=True;TrustServerCertificate=False;Connection Timeout=30;';
    expect(parseMssqlString(text)).toMatchObject({
      host: 'x.database.windows.net',
      port: 1433,
      database: 'shop',
      login: { type: 'password', user: 'me', password: 'a;b"c' },
      tls: 'require',
      connectSecs: 30,
    });
  });

  test('an instance has no port', () => {
    expect(parseMssqlString(String.raw`Server=.\SQLEXPRESS;Database=d;UID=a;PWD=b`)).toMatchObject({
      host: 'localhost',
      port: undefined,
      instance: 'SQLEXPRESS',
    });
  });

  test.each([
    ['Server=h;Integrated Security=true', 'logins of Windows'],
    ['Database=d', 'names no server'],
    ['Server=h;Colour=red', '`Colour`'],
    ['Server=h;Authentication=Active Directory Interactive', 'is not possible here'],
  ])('%s is refused', (text, message) => {
    expect(parseMssqlString(text)).toMatchObject({
      fault: expect.stringContaining(message) as string,
    });
  });

  test('exactly one address is given, and ca_cert_path needs `require`', () => {
    expect(issuesOf(mssqlSource, { query: 'SELECT 1 AS a' })[0]).toContain('exactly one');
    const tls = { type: 'prefer', ca_cert_path: 'ca.pem' };
    expect(
      issuesOf(mssqlSource, { connection_url: URL, query: 'SELECT 1 AS a', tls })[0],
    ).toContain('`ca_cert_path` needs');
  });
});

describe('fields of the sink', () => {
  test.each([
    [{ table: 't', table_name: 't' }, 'exactly one of `table`'],
    [{ table: 't', staging: { location: 'az://x' } }, 'Azure Blob Storage'],
    [{ table: 't', write_mode: 'upsert', key: ['id'] }, 'needs `column_mapping'],
  ])('%o is refused', (config, message) => {
    expect(issuesOf(mssqlSink, { connection_url: URL, ...config }).join()).toContain(message);
  });

  test('smaller transactions than pages are not there, and that is told', () => {
    const checked = check(mssqlSink.config, {
      connection_url: URL,
      table: 't',
      transaction_per_batch: false,
    });
    expect(checked.ok && mssqlSink.doubts?.(checked.value)).toMatchObject([
      { code: 'without_effect', path: 'transaction_per_batch' },
    ]);
  });

  test('a table may have a schema, and brackets', () => {
    expect(parseTable('sales.orders')).toEqual({ schema: 'sales', table: 'orders' });
    expect(parseTable('[a.b].[c]]d]')).toEqual({ schema: 'a.b', table: 'c]d' });
    expect(parseTable('odd name')).toEqual({ table: 'odd name' });
  });
});

describe('queries', () => {
  const context = { records: new Map([['r', { id: 7 }]]) };

  test.each([
    ['SELECT @P2 AS a', 'uses @P2'],
    ['SELECT 1 AS a', 'does not use @P1'],
    ["SELECT '@P1' AS a", 'does not use @P1'],
  ])('%s with one parameter is refused', (query, message) => {
    const issues = issuesOf(mssqlSource, { connection_url: URL, query, params: [1] });
    expect(issues.join()).toContain(message);
  });

  test('@bookmark needs incremental reading', () => {
    const query = 'SELECT * FROM t WHERE a > @bookmark';
    expect(issuesOf(mssqlSource, { connection_url: URL, query })[0]).toContain(
      'needs `replication',
    );
    const replication = { type: 'incremental', column: 'a', initial_value: 0 };
    expect(issuesOf(mssqlSource, { connection_url: URL, query, replication })).toEqual([]);
  });

  test('tokens become parameters, and names and texts stay', () => {
    const query = "SELECT [it's @P1], ${r.id} AS a FROM t WHERE b = '${r.id}' -- @P1";
    const { sql, parameters } = compileQuery({ query, params: ['x'], context });
    expect(sql).toBe("SELECT [it's @P1], @svc_2 AS a FROM t WHERE b = @svc_3 -- @P1");
    expect(parameters.map(({ name, value }) => [name, value])).toEqual([
      ['P1', 'x'],
      ['svc_2', '7'],
      ['svc_3', '7'],
    ]);
  });

  test('a query is put under a name without its order, and expressions stay before it', () => {
    expect(within('SELECT a FROM t ORDER BY a', 's').source).toBe(
      'WITH s AS (\nSELECT a FROM t\n)',
    );
    expect(within('SELECT TOP 5 a FROM t ORDER BY a', 's').source).toContain('ORDER BY a');
    expect(within('SELECT ROW_NUMBER() OVER (ORDER BY a) AS n FROM t', 's').source).toContain(
      'ORDER BY',
    );
    expect(within('WITH x AS (SELECT 1 AS a) SELECT a FROM x', 's').source).toBe(
      'WITH x AS (SELECT 1 AS a),\ns AS (\nSELECT a FROM x\n)',
    );
    expect(within('SELECT a AS s FROM t', 's').name).toBe('s_');
  });
});

describe('values of the protocol', () => {
  test.each([
    ['MoneyN', 'ffffff7fffffffff', 0, '922337203685477.5807'],
    [
      'NumericN',
      '00ffffffffffffffffffffffffffffff7f',
      10,
      '-17014118346046923173168730371.5884105727',
    ],
    ['Date', 'dab937', 0, '9999-12-31'],
    ['SmallDateTime', '00000100', 0, '1900-01-01T00:01:00'],
    ['DateTime', 'ffffffff01000000', 0, '1899-12-31T00:00:00.003'],
    ['BigInt', 'ffffffffffffff7f', 0, 9_223_372_036_854_775_807n],
    ['Real', 'cdcccc3d', 0, 0.1],
  ] as const)('%s keeps its digits', (type, hex, scale, expected) => {
    expect(exactValue(type, Buffer.from(hex, 'hex'), scale)).toBe(expected);
  });
});
