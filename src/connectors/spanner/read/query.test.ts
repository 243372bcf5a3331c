import { describe, expect, it } from 'vitest';
import { CODES } from '../api.ts';
import { compileQuery, queryFaults, within, withoutRows } from './query.ts';

const faults = (query: string, params: readonly string[] = [], isIncremental = false): string[] =>
  queryFaults(query, { params, isIncremental }).map(({ message }) => message);

const context = { parent: { id: 7, name: "O'Brien" } };
const compiled = (query: string, params: Record<string, never> | object = {}) =>
  compileQuery({ query, params: params as never, context });

describe('a query', () => {
  it('binds its parameters by their values, and a text as what the statement wants', () => {
    const params = { a: 1, b: 1.5, c: true, d: 'x', e: null, f: 2n ** 63n, g: 2n ** 62n };
    expect(compiled('SELECT @a, @b, @c, @d, @e, @f, @g', params)).toEqual({
      sql: 'SELECT @a, @b, @c, @d, @e, @f, @g',
      params: {
        a: '1',
        b: 1.5,
        c: true,
        d: 'x',
        e: null,
        f: String(2n ** 63n),
        g: String(2n ** 62n),
      },
      types: {
        a: { code: CODES.INT64 },
        b: { code: CODES.FLOAT64 },
        c: { code: CODES.BOOL },
        f: { code: CODES.NUMERIC },
        g: { code: CODES.INT64 },
      },
    });
  });

  it('binds fields of the parent record, and leaves texts and hints as they are', () => {
    const sql =
      "SELECT * FROM t@{FORCE_INDEX=i} WHERE id = {id} AND name = '{name}' AND x = 'a {id}'";
    expect(compiled(sql)).toEqual({
      sql: "SELECT * FROM t@{FORCE_INDEX=i} WHERE id = @svc_1 AND name = @svc_2 AND x = 'a {id}'",
      params: { svc_1: '7', svc_2: "O'Brien" },
      types: { svc_1: { code: CODES.INT64 } },
    });
  });

  it('has a value for each name and a name for each value', () => {
    expect(faults('SELECT @a, @A, @@session, x@{H=1}', ['a'])).toEqual([]);
    expect(faults("SELECT @a, '@no', `@no` -- @no", [])).toEqual([
      'the query uses @a, for which `params` has no value',
    ]);
    expect(faults('SELECT 1', ['a'])).toEqual([
      'the query does not use @a, for which `params` has a value',
    ]);
    expect(faults('SELECT @a', ['a', 'A'])).toEqual([
      '`params` has two names that differ only in case, and Spanner takes them for one',
    ]);
    expect(faults('SELECT @svc_1', ['svc_1'])).toEqual(['names that begin with `svc_` are taken']);
    expect(faults("SELECT 'a ${row.x}'")).toEqual([
      expect.stringContaining('inside a longer text') as string,
    ]);
  });

  it('takes the bookmark where it reads incrementally, and not behind >', () => {
    expect(faults('SELECT * FROM t WHERE a >= TIMESTAMP(@bookmark)', [], true)).toEqual([]);
    for (const value of ['@bookmark', 'TIMESTAMP(@bookmark)', 'CAST( @bookmark AS INT64)'])
      expect(faults(`SELECT * FROM t WHERE a > ${value}`, [], true)).toEqual([
        '@bookmark is compared with >, which can miss rows that share the last value',
      ]);
    expect(faults('SELECT @bookmark')).toEqual([expect.stringContaining('needs `replication')]);
    expect(faults('SELECT @Bookmark', ['bookmark'])).toEqual([]);
    expect(faults('SELECT @bookmark', ['bookmark'], true)).toEqual([
      '`@bookmark` is the last value of the incremental column',
    ]);
  });
});

describe('an incremental query', () => {
  const start = (type: number | undefined, more: object = {}) => ({
    column: 'at',
    initial: '2024-01-02',
    bookmark: undefined,
    ...(type === undefined ? {} : { type: { code: type } }),
    ...more,
  });
  const query =
    'SELECT * FROM t WHERE a >= TIMESTAMP(@bookmark) AND b >= DATE(@bookmark) AND at >= @bookmark;';

  it('compares the column with the start as its type, and texts where they are wanted', () => {
    const { sql, params, types } = compileQuery({
      query,
      params: {},
      context: {},
      start: start(CODES.TIMESTAMP),
    });
    expect(sql).toBe(
      'WITH svc_source AS (\nSELECT * FROM t WHERE a >= @svc_start AND b >= DATE(@svc_start_text) AND at >= @svc_start \n) SELECT * FROM svc_source WHERE svc_source.`at` >= @svc_start ORDER BY svc_source.`at`',
    );
    const cell = '2024-01-02T00:00:00Z';
    expect(params).toEqual({ svc_start: cell, svc_start_text: cell });
    expect(types).toEqual({
      svc_start: { code: CODES.TIMESTAMP },
      svc_start_text: { code: CODES.STRING },
    });
  });

  it('begins behind a bookmark that does not know its rows, and at one that does', () => {
    const sqlOf = (bookmark: object) =>
      compileQuery({ query, params: {}, context: {}, start: start(CODES.DATE, { bookmark }) }).sql;
    expect(sqlOf({ value: '2024-05-06' })).toContain('WHERE svc_source.`at` > @svc_start');
    expect(sqlOf({ value: '2024-05-06', seen: [] })).toContain('`at` >= @svc_start');
  });

  it('knows no start before it knows the type, and refuses one that is no value of it', () => {
    expect(compileQuery({ query, params: {}, context: {}, start: start(undefined) })).toEqual({
      sql: 'SELECT * FROM t WHERE a >= TIMESTAMP(@svc_start_text) AND b >= DATE(@svc_start_text) AND at >= @svc_start ',
      params: { svc_start: null, svc_start_text: null },
      types: { svc_start_text: { code: CODES.STRING } },
    });
    expect(() =>
      compileQuery({ query, params: {}, context: {}, start: start(CODES.INT64) }),
    ).toThrow('the column `at` cannot start at "2024-01-02"');
  });
});

it('keeps expressions and hints of a query in front', () => {
  const { sql } = withoutRows({ sql: '@{A=1} WITH a AS (SELECT 1 AS x) SELECT * FROM a' });
  expect(sql).toBe(
    '@{A=1} WITH a AS (SELECT 1 AS x),\nsvc_described AS (\nSELECT * FROM a\n) SELECT * FROM svc_described LIMIT 0',
  );
  expect(within('SELECT svc_part', 'svc_part').name).toBe('svc_part_');
});
