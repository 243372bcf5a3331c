import { describe, expect, test } from 'vitest';
import type { StoredBookmark } from '../../kit/stored-bookmark.ts';
import { compileQuery, queryFaults } from './query.ts';

describe('a compiled query', () => {
  test('tokens become parameters behind the configured ones', () => {
    const query =
      "SELECT * FROM t WHERE a = $1 AND b = ${users.id} AND c = '${users.address.city}' AND d = '${now.date}';";
    const records = new Map([['users', { id: 9007199254740993n, address: { city: "Tromsø'" } }]]);
    expect(compileQuery({ query, params: [true], records })).toEqual({
      sql: "SELECT * FROM t WHERE a = $1 AND b = $2 AND c = $3 AND d = '${now.date}' ",
      values: ['true', '9007199254740993', "Tromsø'"],
    });
  });

  test('a missing record, or a field it does not have, is an error', () => {
    expect(() => compileQuery({ query: 'SELECT ${p.id}', params: [], records: undefined })).toThrow(
      'no record of row `p`',
    );
    expect(() =>
      compileQuery({
        query: 'SELECT ${p.id}',
        params: [],
        records: new Map([['p', { other: 1 }]]),
      }),
    ).toThrow('no such field');
  });

  test('incremental reading includes its start, and the value of a bookmark that knows what was read of it', () => {
    const base = { query: 'SELECT * FROM t -- all;\n', params: [], records: undefined };
    const first = compileQuery({
      ...base,
      incremental: { column: 'a"b', initial: 5, bookmark: undefined },
    });
    expect(first.sql).toContain('svc_source."a""b" >= $1 ORDER BY svc_source."a""b"');
    expect(first.values).toEqual(['5']);
    const after = (bookmark: StoredBookmark) =>
      compileQuery({ ...base, incremental: { column: 'a', initial: 5, bookmark } });
    expect(after({ value: 7 }).sql).toContain('svc_source."a" > $1');
    expect(after({ value: 7, seen: ['x'] }).sql).toContain('svc_source."a" >= $1');
    expect(after({ value: 7, seen: [] }).values).toEqual(['7']);
  });
});

describe('a query is refused before it runs', () => {
  test.each(["'x ${p.id}'", '"${p.id}"', '-- ${p.id}'])('with a token inside %s', (sql) => {
    expect(queryFaults(sql, false)).toHaveLength(1);
  });

  test('with a bookmark that nothing fills in, or that is compared with >', () => {
    expect(queryFaults('SELECT * FROM t WHERE a >= ${bookmark}', false)[0]?.message).toContain(
      'replication',
    );
    expect(queryFaults("SELECT * FROM t WHERE a > '${bookmark}'", true)[0]?.hint).toContain('>=');
    expect(queryFaults('SELECT * FROM t WHERE a >= ${bookmark}', true)).toEqual([]);
  });

  test('but tokens others fill in are left to them', () => {
    expect(
      queryFaults("SELECT 'at ${now.date}', '${env:X} y', '${backfill.from}T00' FROM t", false),
    ).toEqual([]);
  });
});
