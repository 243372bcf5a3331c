import { expect, test } from 'vitest';
import { ConnectorError, messageOf } from '../errors.ts';
import { duckdbError } from './duckdb-errors.ts';
import { duckdbRows, openDuckdb } from './duckdb.ts';

test.each([
  ['IO Error: Could not set lock on file "x.duckdb"', 'another process has the database open'],
  ['IO Error: Trying to read a database file with version number 69, but', 'another version of'],
  ['IO Error: The file "x.duckdb" exists, but it is not a valid database', 'check the path'],
])('a file that cannot be opened is told with what to do about files: %s', (text, hint) => {
  const error = duckdbError(new Error(text), 'connection failed');
  expect([error.kind, error.hint]).toEqual(['connection', expect.stringContaining(hint)]);
});

test.each([
  [
    'Conversion Error: Could not convert string "x" to INT32 (column "n")',
    'a value does not fit its type in the column "n" (DuckDB: Could not convert string "x" to INT32)',
  ],
  [
    'Out of Memory Error: could not allocate',
    'the memory is not enough (DuckDB: could not allocate)',
  ],
  ['INTERRUPT Error: Interrupted!', 'the statement was interrupted (DuckDB: Interrupted!)'],
  ['Something New Error: oh', 'the engine failed (DuckDB: oh)'],
  ['no class', 'the engine failed (DuckDB: no class)'],
])('what the engine says stands behind a sentence of ours: %s', (text, said) => {
  const { message, hint } = duckdbError(new Error(text), 'writing');
  expect(message).toBe(`writing: ${said}`);
  expect(hint).toMatch(/\w/);
});

test('what the engine says has no login, and an end', () => {
  const address = 'https://me:pa55word@host/x.parquet?sig=abcdef';
  const error = duckdbError(
    new Error(`IO Error: Could not get ${address} ${'x'.repeat(999)}`),
    'a',
  );
  expect(error.message).toContain('https://host/x.parquet?sig=***');
  expect(error.message.length).toBeLessThan(500);
});

test('our own errors stay as they are', () => {
  const own = new ConnectorError('data', 'own');
  expect(duckdbError(own, 'writing')).toBe(own);
});

/** What the engine of this version really says. */
test.each([
  ['selec 1', 'data', 'not valid SQL'],
  ['SELECT * FROM nope', 'missing', 'no such table'],
  ['SELECT nope(1)', 'missing', 'no such function'],
  ['SELECT nope FROM (SELECT 1 AS a)', 'missing', 'no such column'],
  ['SELECT nope', 'missing', 'no such column'],
  ["SELECT 'a'::INTEGER", 'data', 'does not fit its type'],
  ['SELECT 300::TINYINT', 'data', 'does not fit its type'],
  ['SELECT 9223372036854775807 + 1', 'data', 'does not fit its type'],
  ["SELECT map(['k', 'k'], [1, 2])", 'data', 'has a key twice'],
  ["SELECT * FROM read_parquet('nope.parquet')", 'missing', 'a file does not exist'],
  ['INSERT INTO t VALUES (NULL, 1)', 'data', 'a value is missing'],
  ['INSERT INTO t VALUES (1, 1)', 'data', 'a key is there already'],
  ['INSERT INTO t VALUES (2, 9)', 'data', 'breaks a rule of the table'],
])('%s', async (sql, kind, says) => {
  const database = await openDuckdb(':memory:');
  await database.connection.run('CREATE TABLE t (id INTEGER PRIMARY KEY, n INTEGER CHECK (n < 5))');
  await database.connection.run('INSERT INTO t VALUES (1, 1)');
  const failed = await duckdbRows(database.connection, sql).catch((error: unknown) => error);
  database.close();
  const error = duckdbError(failed, 'the query failed');
  expect(error.kind).toBe(kind);
  expect(error.message).toContain(says);
  expect(error.message).not.toContain(messageOf(failed));
});
