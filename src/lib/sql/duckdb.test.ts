import { expect, test } from 'vitest';
import { duckdbError } from './duckdb.ts';

test.each([
  ['IO Error: Could not set lock on file "x.duckdb"', 'another process has the database open'],
  ['IO Error: Trying to read a database file with version number 69, but', 'another version of'],
  ['IO Error: The file "x.duckdb" exists, but it is not a valid database', 'check the path'],
])('a file that cannot be opened is told with what to do about files: %s', (text, hint) => {
  const error = duckdbError(new Error(text), 'connection failed');
  expect([error.kind, error.hint]).toEqual(['connection', expect.stringContaining(hint)]);
});
