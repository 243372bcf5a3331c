import { expect, test } from 'vitest';
import { duckdbError, duckdbRows, openDuckdb } from './duckdb.ts';

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
    'Conversion Error: Could not convert string "x" to INT32',
    'Could not convert string "x" to INT32',
  ],
  ['Out of Memory Error: could not allocate', 'could not allocate'],
  ['INTERRUPT Error: Interrupted!', 'Interrupted!'],
])('a message has no name of a part of the engine: %s', (text, said) => {
  expect(duckdbError(new Error(text), 'writing').message).toBe(`writing: ${said}`);
});

test('a text that begins with U+FEFF keeps it, wherever it stands', async () => {
  const database = await openDuckdb(':memory:');
  const text = '\ufeffa';
  const sql = `SELECT '${text}' AS short, '${text}' || repeat('x', 20) AS long, ['${text}'] AS list, {'s': '${text}'} AS struct, enum_first(NULL::ENUM('${text}'))::VARCHAR AS word`;
  expect(await duckdbRows(database.connection, sql)).toEqual([
    {
      short: text,
      long: `${text}${'x'.repeat(20)}`,
      list: [text],
      struct: { s: text },
      word: text,
    },
  ]);
  const names = `SELECT column_name FROM (DESCRIBE SELECT 1 AS "${text}")`;
  expect(await duckdbRows(database.connection, names)).toEqual([{ column_name: text }]);
  database.close();
});
