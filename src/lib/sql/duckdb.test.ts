import { expect, test } from 'vitest';
import { duckdbRows, openDuckdb } from './duckdb.ts';

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
