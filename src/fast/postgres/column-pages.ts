/** Pages of columns from rows in the text form of COPY. */
import { ByteWriter } from '../../kit/byte-writer.ts';
import { Columns, TEXT, type Column } from '../../kit/columns.ts';
import { Page } from '../../kit/page.ts';
import { CopyTextWriter, type CopyField } from './copy-text-writer.ts';
import type { Collector } from './line-pages.ts';

const FIRST_CAPACITY = 64 * 1024;
const FIRST_ROWS = 1024;
/**
 * Of each kind of memory that waits to be used again: for the page in work, the page that waits,
 * the page being filled.
 */
const SPARES = 3;

export function collectColumns(fields: readonly CopyField[]): Collector {
  const names = fields.map((field) => field.name);
  const writer = new CopyTextWriter(fields, FIRST_CAPACITY);
  const spareBytes: Buffer<ArrayBuffer>[] = [];
  const spareCells: Column[][] = [];
  const makeCells = (rows: number): Column[] => fields.map(() => cellsOf(rows));
  let cells = makeCells(FIRST_ROWS);
  let capacity = FIRST_ROWS;
  let count = 0;
  // oxlint-disable-next-line max-params
  const mark = (column: number, start: number, end: number, kind: number): void => {
    const { starts, ends, kinds } = cells[column] as Column;
    const quote = kind >= TEXT ? 1 : 0;
    starts[count] = start + quote;
    ends[count] = end - quote;
    kinds[count] = kind;
  };
  return {
    add(chunk, from, to) {
      if (count === capacity) {
        capacity *= 2;
        cells = cells.map((column) => grown(column, capacity));
      }
      writer.cells(chunk, from, mark, to - 1);
      count += 1;
    },
    take(options) {
      const bytes = new ByteWriter();
      const room = Math.max(FIRST_CAPACITY, Math.ceil(writer.length * 1.1));
      const block = writer.take(spareBytes.pop() ?? Buffer.allocUnsafeSlow(room));
      bytes.bytes = Buffer.from(block.buffer as ArrayBuffer);
      bytes.length = block.length;
      const used = cells;
      const release = (): void => {
        if (spareBytes.length < SPARES) spareBytes.push(bytes.bytes);
        if (spareCells.length < SPARES) spareCells.push(used);
      };
      const page = Page.ofColumns(
        new Columns({ names, columns: used, height: count, cells: bytes }),
        { ...options, release },
      );
      cells = spareCells.pop() ?? makeCells(capacity);
      capacity = cells[0]?.kinds.length ?? capacity;
      count = 0;
      return page;
    },
  };
}

function cellsOf(rows: number): Column {
  return {
    starts: new Uint32Array(rows),
    ends: new Uint32Array(rows),
    kinds: new Uint8Array(rows),
  };
}

function grown(column: Column, rows: number): Column {
  const larger = cellsOf(rows);
  larger.starts.set(column.starts);
  larger.ends.set(column.ends);
  larger.kinds.set(column.kinds);
  return larger;
}
