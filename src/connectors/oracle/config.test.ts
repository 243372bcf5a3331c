import { assert, describe, expect, test } from 'vitest';
import type { ZodType } from 'zod';
import { check } from '../../kit/schema.ts';
import type { JsonObject } from '../../lib/text/json.ts';
import { encoderFor } from './encode.ts';
import { connectString, plainAddress } from './fields.ts';
import { oracleSink, oracleSource } from './index.ts';
import { parseTable } from './names.ts';
import { compileQuery, within } from './read/query.ts';

const LOGIN = { username: 'u', password: 'p' };
const QUERY = { query: 'SELECT * FROM t' };

function issuesOf({ config: schema }: { readonly config: ZodType }, config: JsonObject): string[] {
  const checked = check(schema, config);
  return checked.ok ? [] : checked.issues.map(({ path, message }) => `${path}: ${message}`);
}

describe('addresses of Oracle', () => {
  test.each([
    [{}, 'exactly one of `connect_string` and `host`'],
    [{ connect_string: 'h/s', host: 'h' }, 'exactly one of `connect_string` and `host`'],
    [{ connect_string: 'h/s', port: 1 }, '`port` belongs to `host`'],
    [{ host: 'h' }, 'exactly one of `service_name` and `sid`'],
    [{ host: 'h', service_name: 's', sid: 's' }, 'exactly one of `service_name` and `sid`'],
    [{ host: 'h)(X=', service_name: 's' }, 'letters that no name has'],
    [{ connect_string: 'config-file:///etc/x.json' }, 'settings that lie elsewhere'],
  ])('%j is refused', (fields, message) => {
    expect(issuesOf(oracleSource, { ...LOGIN, ...QUERY, ...fields }).join()).toContain(message);
    expect(issuesOf(oracleSink, { ...LOGIN, table: 't', ...fields }).join()).toContain(message);
  });

  test.each([
    [{ host: 'h', service_name: 's' }, 'oracle://h:1521/s'],
    [{ host: 'h', port: 99, sid: 's' }, 'oracle://h:99/s'],
    [{ connect_string: 'h/s' }, 'oracle://h:1521/s'],
    [{ connect_string: 'tcps://h:2484/s?wallet_location=/w' }, 'oracle://h:2484/s'],
    [
      {
        connect_string:
          '(DESCRIPTION=(ADDRESS=(PROTOCOL=tcps)(HOST=h)(PORT=7))(CONNECT_DATA=(SERVICE_NAME=s)))',
      },
      'oracle://h:7/s',
    ],
    [{ connect_string: 'alias' }, 'oracle://alias'],
  ])('%j is the place %s', (fields, place) => {
    expect(issuesOf(oracleSource, { ...LOGIN, ...QUERY, ...fields })).toEqual([]);
    expect(plainAddress({ ...LOGIN, ...fields })).toBe(place);
  });

  test('a host and a service become a description', () => {
    expect(connectString({ ...LOGIN, host: 'h', service_name: 's' })).toBe(
      '(DESCRIPTION=(ADDRESS=(PROTOCOL=TCP)(HOST=h)(PORT=1521))(CONNECT_DATA=(SERVICE_NAME=s)))',
    );
  });
});

describe('queries of Oracle', () => {
  const place = { host: 'h', service_name: 's' };

  test.each([
    ['SELECT :2 FROM DUAL', ['a'], ':2'],
    ['SELECT 1 FROM DUAL', ['a'], 'does not use :1'],
    ['SELECT * FROM t WHERE a > :bookmark', [], 'needs `replication'],
    ["SELECT 'x ${p.a}' FROM DUAL", [], 'inside a longer text'],
  ])('%s is refused', (query, params, message) => {
    const issues = issuesOf(oracleSource, { ...LOGIN, ...place, query, params });
    expect(issues.join()).toContain(message);
  });

  test('a strict comparison with the bookmark is a doubt, as elsewhere', () => {
    const query = 'SELECT * FROM t WHERE a > :bookmark';
    const replication = { type: 'incremental', column: 'a', initial_value: 1 };
    const checked = check(oracleSource.config, { ...LOGIN, ...place, query, replication });
    assert(checked.ok);
    expect(oracleSource.doubts?.(checked.value)?.map(({ code, path }) => [code, path])).toEqual([
      ['may_miss_records', 'query'],
    ]);
  });

  test('tokens are bound outside of texts, names and comments only', () => {
    const { sql, values } = compileQuery({
      query: `SELECT ':1', "a:1", q'{:1 '}', :1 /* :1 */ FROM t WHERE b = \${p.x}; `,
      params: [1],
      context: { records: new Map([['p', { x: 'v' }]]) },
    });
    expect(sql.trim()).toBe(`SELECT ':1', "a:1", q'{:1 '}', :1 /* :1 */ FROM t WHERE b = :svc_2`);
    expect(values).toEqual({ 1: 1, svc_2: 'v' });
  });

  test('expressions before a query stay before it', () => {
    const { source, name } = within('WITH a AS (SELECT 1 AS x FROM DUAL) SELECT * FROM a', 'svc');
    expect(`${source} SELECT * FROM ${name}`).toBe(
      'WITH a AS (SELECT 1 AS x FROM DUAL),\nsvc AS (\nSELECT * FROM a\n) SELECT * FROM svc',
    );
  });
});

test('a sink stores fields in columns where nothing else is said', () => {
  const keyed = { ...LOGIN, host: 'h', service_name: 's', table: 't', key: ['id'] };
  const checked = check(oracleSink.config, { ...keyed, write_mode: 'upsert' });
  assert(checked.ok);
  expect(checked.value.column_mapping).toEqual({ kind: 'auto' });
  const column = { json: { column: 'doc' } };
  expect(issuesOf(oracleSink, { ...keyed, column_mapping: column })).toEqual([]);
});

describe('names of Oracle', () => {
  test.each([
    ['customers', { table: 'CUSTOMERS' }],
    ['sales.orders', { owner: 'SALES', table: 'ORDERS' }],
    ['Sales."Order.s"', { owner: 'SALES', table: 'Order.s' }],
    ['"a""b"', { table: 'a"b' }],
    ['_t', { table: '_t' }],
    ['a.b.c', { table: 'a.b.c' }],
  ])('%s', (written, table) => {
    expect(parseTable(written)).toEqual(table);
  });
});

describe('durations', () => {
  test.each([
    ['P2Y3M', 'INTERVAL YEAR(4) TO MONTH', '+02-03'],
    ['-P2Y3M', 'INTERVAL YEAR(4) TO MONTH', '-02-03'],
    ['P-2Y-3M', 'INTERVAL YEAR(4) TO MONTH', '-02-03'],
    ['PT90S', 'INTERVAL DAY(2) TO SECOND(6)', '+00 00:01:30.000000000'],
    ['P-1DT-0.5S', 'INTERVAL DAY(2) TO SECOND(6)', '-01 00:00:00.500000000'],
    ['PT-0.5S', 'INTERVAL DAY(2) TO SECOND(6)', '-00 00:00:00.500000000'],
    ['P1DT2H', 'INTERVAL DAY(2) TO SECOND(6)', '+01 02:00:00.000000000'],
  ])('%s in %s', (text, type, written) => {
    expect(encoderFor({ name: 'd', type }).encode(text)).toBe(written);
  });

  test.each(['P1YT1H', 'P1Y-3M', 'P-1DT0.5S', 'P', 'PT', 'tomorrow'])('%s is refused', (text) => {
    const encoder = encoderFor({ name: 'd', type: 'INTERVAL DAY(2) TO SECOND(6)' });
    expect(() => encoder.encode(text)).toThrow(/not a duration/);
  });
});
