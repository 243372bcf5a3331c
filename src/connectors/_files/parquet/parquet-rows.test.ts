import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { columnsOf } from '../../../../test/fakes/columns.ts';
import { TextRows } from '../../../fast/duckdb/text-rows.ts';
import {
  CHUNK_ROWS,
  duckdbLibrary,
  duckdbRows,
  openDuckdb,
  type Duckdb,
} from '../../../lib/sql/duckdb.ts';
import type { JsonValue } from '../../../lib/text/json.ts';
import { ValueRows, type ParquetRows } from './parquet-rows.ts';

/** Lengths around the twelve bytes that the engine keeps beside the others, and escapes. */
const cell = fc.oneof(
  fc.string({ unit: 'grapheme', maxLength: 20 }),
  fc.string({ unit: 'binary-ascii', minLength: 11, maxLength: 14 }),
  fc.constantFrom(null, undefined, '', '"\\/\b\f\n\r\t\u0001', '\ud800'),
);
const row = fc.tuple(cell, cell);

/** What the engine finds in the chunks that it fetches. */
async function fetchAll(engine: Duckdb, rows: ParquetRows): Promise<JsonValue[][]> {
  const { DuckDBDataChunk, VARCHAR } = duckdbLibrary();
  await engine.connection.run('CREATE OR REPLACE TABLE t (a VARCHAR, b VARCHAR)');
  const appender = await engine.connection.createAppender('t');
  for (;;) {
    const chunk = DuckDBDataChunk.create([VARCHAR, VARCHAR]);
    rows.fetch(chunk);
    if (chunk.rowCount === 0) break;
    appender.appendDataChunk(chunk);
  }
  appender.closeSync();
  const found = await duckdbRows(engine.connection, 'SELECT a, b FROM t');
  return found.map(({ a = null, b = null }) => [a, b]);
}

test('the engine is given the same texts with and without their addresses', async () => {
  const engine = await openDuckdb(':memory:', { threads: '1' });
  const part = fc.record({
    rows: fc.array(row, { minLength: 1, maxLength: 30 }),
    asColumns: fc.boolean(),
    times: fc.constantFrom(1, 1, 1, 70),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(part, { minLength: 1, maxLength: 6 }), async (parts) => {
      const [plain, fast] = [new ValueRows(2), new TextRows([true, true])];
      // The second time with memory that was used before.
      for (let round = 0; round < 2; round += 1) {
        const wanted: JsonValue[][] = [];
        for (const { rows, asColumns, times } of parts) {
          const some = Array.from({ length: times }, () => rows)
            .flat()
            .slice(0, CHUNK_ROWS);
          wanted.push(...some.map((values) => values.map((value) => wellFormed(value))));
          for (const target of [plain, fast]) add(target, some, asColumns);
        }
        expect(await fetchAll(engine, plain)).toEqual(wanted);
        expect(await fetchAll(engine, fast)).toEqual(wanted);
        expect(fast.rows).toBe(plain.rows);
        for (const target of [plain, fast]) target.clear();
      }
    }),
    { numRuns: 60 },
  );
  engine.close();
});

test('both refuse a page with a cell that is no text, and keep what they have', async () => {
  const engine = await openDuckdb(':memory:', { threads: '1' });
  const page = columnsOf(
    ['a', 'b'],
    [
      ['x', 'y'],
      ['z', 1],
    ],
  );
  for (const rows of [new ValueRows(2), new TextRows([true, true])]) {
    rows.addValues(1, () => ['kept']);
    const taken = [page.column('a'), page.column('b')];
    expect(rows.addCells(page, taken, page.rows)).toBe(false);
    expect(await fetchAll(engine, rows)).toEqual([['kept', 'kept']]);
  }
  engine.close();
});

function add(
  target: ParquetRows,
  rows: readonly (readonly (string | null | undefined)[])[],
  asColumns: boolean,
): void {
  if (!asColumns) {
    target.addValues(rows.length, (column) => rows.map((values) => values[column] ?? undefined));
    return;
  }
  const columns = columnsOf(['a', 'b'], rows);
  expect(target.addCells(columns, [columns.column('a'), columns.column('b')], columns.rows)).toBe(
    true,
  );
}

function wellFormed(value: string | null | undefined): string | null {
  return value?.toWellFormed() ?? null;
}
