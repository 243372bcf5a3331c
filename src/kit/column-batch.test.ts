import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { jsonColumnPages } from '../connectors/_files/json/json-column-pages.ts';
import type { JsonObject } from '../lib/text/json.ts';
import { ColumnBuilder } from './cells.ts';
import { writeLines } from './column-lines.ts';
import { packColumns, unpackColumns } from './column-batch.ts';
import { readRecords } from './column-records.ts';
import type { Columns } from './columns.ts';

async function columnsOf(records: readonly JsonObject[]): Promise<Columns> {
  const blocks = (async function* () {
    yield Buffer.from(records.map((record) => JSON.stringify(record)).join('\n'));
  })();
  const options = {
    name: 'f',
    signal: new AbortController().signal,
    bounds: { records: 1000, bytes: 1_000_000 },
  };
  for await (const { columns } of jsonColumnPages(blocks, options))
    if (columns !== undefined) return columns;
  throw new Error('the records are no columns');
}

const row = fc.record({
  id: fc.integer(),
  name: fc.string({ maxLength: 9 }),
  note: fc.constantFrom<string | null>('a "quoted" text', 'ünï', null, ''),
  '7': fc.boolean(),
});
const table = fc.array(row, { minLength: 1, maxLength: 40 });

describe('columns as a batch', () => {
  it('are the same on the other side, whatever was done to them before', async () => {
    await fc.assert(
      fc.asyncProperty(table, fc.nat({ max: 3 }), fc.boolean(), async (records, drop, changed) => {
        let columns = await columnsOf(records);
        columns = columns
          .kept(columns.rows.filter((_, index) => index % (drop + 1) === 0))
          .renamed(columns.names.map((name) => `${name}_x`));
        if (changed) {
          const built = new ColumnBuilder(columns);
          for (const at of columns.rows) built.set(at, `new ${at}`);
          columns = columns.with('id_x', built);
        }
        const batch = packColumns(columns);
        const moved = structuredClone(batch, { transfer: [batch.memory] });
        expect(batch.memory.byteLength).toBe(0);
        expect(readRecords(unpackColumns(moved))).toEqual(readRecords(columns));
        expect(Buffer.from(writeLines(unpackColumns(moved)))).toEqual(
          Buffer.from(writeLines(columns)),
        );
      }),
    );
  });

  it('need not start in fresh memory', async () => {
    const columns = await columnsOf([
      { a: 1, b: 'x' },
      { a: 2, b: 'y' },
    ]);
    const used = new Uint8Array(10_000).fill(255).buffer;
    const batch = packColumns(columns, () => used);
    expect(batch.memory).toBe(used);
    expect(readRecords(unpackColumns(batch))).toEqual([
      { a: 1, b: 'x' },
      { a: 2, b: 'y' },
    ]);
  });

  it('take new cells in the memory they came in, and more when that is full', async () => {
    const columns = unpackColumns(packColumns(await columnsOf([{ a: 'text' }, { a: 'more' }])));
    const memory = columns.cells.bytes.buffer;
    const short = new ColumnBuilder(columns);
    for (const at of columns.rows) short.set(at, 'b');
    expect(columns.cells.bytes.buffer).toBe(memory);
    const long = new ColumnBuilder(columns);
    for (const at of columns.rows) long.set(at, 'long '.repeat(100));
    expect(columns.cells.bytes.buffer).not.toBe(memory);
    expect(readRecords(columns.with('b', short).with('c', long))).toEqual([
      { a: 'text', b: 'b', c: 'long '.repeat(100) },
      { a: 'more', b: 'b', c: 'long '.repeat(100) },
    ]);
  });
});
