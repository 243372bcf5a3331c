import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { fillTexts } from './text-chunk.ts';
import { CHUNK_ROWS, duckdbLibrary, duckdbRows, openDuckdb } from '../../lib/sql/duckdb.ts';

/** Lengths around the twelve bytes that stand in the entry itself. */
const text = fc.oneof(
  fc.string({ unit: 'grapheme', maxLength: 20 }),
  fc.string({ unit: 'binary-ascii', minLength: 11, maxLength: 14 }),
  fc.string({ maxLength: 3000 }),
  fc.constant(null),
);

test('texts arrive in the engine as they were, whatever their length, and nulls as nulls', async () => {
  const { DuckDBDataChunk, VARCHAR } = duckdbLibrary();
  const { connection, close } = await openDuckdb(':memory:', { threads: '1' });
  const columns = fc.array(fc.tuple(text, text), { minLength: 1, maxLength: 40 });
  await fc.assert(
    fc.asyncProperty(columns, fc.boolean(), async (some, whole) => {
      const rows = whole
        ? Array.from(
            { length: CHUNK_ROWS },
            (_, row) => some[row % some.length] as (typeof some)[number],
          )
        : some;
      const bytes = Buffer.from(`before${rows.map(([a, b]) => `${a ?? ''}${b ?? ''}`).join('')}`);
      const cells = [0, 1].map(() => ({
        starts: new Uint32Array(rows.length),
        ends: new Uint32Array(rows.length),
      }));
      let at = 'before'.length;
      for (const [row, pair] of rows.entries()) {
        for (const [column, value] of pair.entries()) {
          const place = cells[column] as (typeof cells)[number];
          place.starts[row] = value === null ? 1 : at;
          at += Buffer.byteLength(value ?? '');
          place.ends[row] = value === null ? 0 : at;
        }
      }
      await connection.run('CREATE OR REPLACE TABLE t (a VARCHAR, b VARCHAR)');
      const chunk = DuckDBDataChunk.create([VARCHAR, VARCHAR], rows.length);
      fillTexts(chunk, new Map(cells.entries()), {
        bytes,
        bytesFrom: 6,
        bytesTo: bytes.length,
        row: 0,
      });
      const appender = await connection.createAppender('t');
      appender.appendDataChunk(chunk);
      appender.closeSync();
      expect(await duckdbRows(connection, 'SELECT a, b FROM t')).toEqual(
        rows.map(([a, b]) => ({ a, b })),
      );
    }),
    { numRuns: 60 },
  );
  close();
});
