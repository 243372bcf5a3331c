import { existsSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { ConnectorError } from '../errors.ts';
import { inTransaction, openSqlite, parseSqliteUrl, sqliteError } from './sqlite.ts';

const cwd = mkdtempSync(join(tmpdir(), 'sqlite-'));

function kindOf(act: () => unknown): string {
  try {
    act();
  } catch (error) {
    if (error instanceof ConnectorError) return error.kind;
    throw error;
  }
  return 'none';
}

describe('a SQLite address', () => {
  test.each([
    ['a.db', 'a.db', undefined],
    ['sqlite:a.db', 'a.db', undefined],
    ['sqlite://./a.db', './a.db', undefined],
    ['sqlite:/abs/a.db', '/abs/a.db', undefined],
    ['sqlite:///abs/a.db?mode=rwc', '/abs/a.db', 'rwc'],
    ['sqlite::memory:', ':memory:', undefined],
    [':memory:', ':memory:', undefined],
    ['sqlite://x?mode=memory', ':memory:', undefined],
    ['sqlite:a.db?mode=ro', 'a.db', 'ro'],
  ])('%s', (url, path, mode) => {
    expect(parseSqliteUrl(url)).toEqual({ path, mode });
  });

  test.each(['sqlite:', 'sqlite:a.db?mode=x', 'a.db?cache=shared'])('%s is refused', (url) => {
    expect(parseSqliteUrl(url)).toHaveProperty('error');
  });
});

describe('opening', () => {
  test('a missing file is made only when asked to', () => {
    expect(kindOf(() => openSqlite('sqlite:new.db', { mode: 'rw', cwd }))).toBe('missing');
    openSqlite('sqlite:new.db?mode=rwc', { mode: 'rw', cwd }).close();
    expect(kindOf(() => openSqlite('sqlite:new.db', { mode: 'rw', cwd }).close())).toBe('none');
  });

  test('a lock that lasts is told with what to do', () => {
    const holder = openSqlite('sqlite:held.db?mode=rwc', { mode: 'rw', cwd });
    holder.exec('BEGIN EXCLUSIVE');
    const other = openSqlite('sqlite:held.db', { mode: 'rw', cwd, busyTimeoutMs: 0 });
    try {
      other.exec('CREATE TABLE t (a)');
      expect.unreachable();
    } catch (error) {
      expect(sqliteError(error, 'writing')).toMatchObject({
        kind: 'timeout',
        message: 'writing: database is locked',
        hint: 'end the program that holds the lock of the file, or wait until it is done',
      });
    }
    other.close();
    holder.close();
  });

  test('a read-only database refuses writes', () => {
    const db = openSqlite('new.db?mode=ro', { mode: 'rw', cwd });
    expect(
      kindOf(() => {
        try {
          db.exec('CREATE TABLE t (a)');
        } catch (error) {
          throw sqliteError(error, 'writing');
        }
      }),
    ).toBe('refused');
    db.close();
  });

  test('whoever may create the database may create its folder', () => {
    openSqlite('made/for/it/a.db', { mode: 'rwc', cwd }).close();
    expect(existsSync(join(cwd, 'made/for/it/a.db'))).toBe(true);
  });

  test('a folder that cannot be made is a connection failure', () => {
    writeFileSync(join(cwd, 'a-file'), '');
    expect(kindOf(() => openSqlite('a-file/a.db', { mode: 'rwc', cwd }))).toBe('connection');
  });
});

test('a failed transaction leaves nothing behind', () => {
  const db = openSqlite(':memory:', { mode: 'rwc', cwd });
  db.exec('CREATE TABLE t (a)');
  const fail = (): void => {
    db.exec('INSERT INTO t VALUES (1)');
    throw new Error('stop');
  };
  expect(() => inTransaction(db, fail)).toThrow('stop');
  expect(db.prepare('SELECT count(*) AS n FROM t').get()).toEqual({ n: 0 });
});
