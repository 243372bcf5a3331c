/** Pages of columns from rows in the text form of COPY. */
import { ByteWriter } from '../../kit/byte-writer.ts';
import { Columns, TEXT, type Column } from '../../kit/columns.ts';
import { Page } from '../../kit/page.ts';
import { readRecords } from '../../kit/column-records.ts';
import { setField, type JsonObject, type JsonValue } from '../../lib/text/json.ts';
import { CopyTextWriter, type CopyField, type MarkCell } from './copy-text-writer.ts';
import type { Collector } from './line-pages.ts';

const FIRST_CAPACITY = 64 * 1024;
const FIRST_ROWS = 1024;
/**
 * How many buffers of each kind are reused: for the page being written, the page in the queue and the
 * page being filled.
 */
const SPARES = 3;

/** A value that is not the same when it is read back from its cell. */
interface UnheldValue {
  readonly row: number;
  readonly name: string;
  readonly value: JsonValue;
}

/** A page with such a value is one of records. */
function recordsOf(columns: Columns, unheld: readonly UnheldValue[]): JsonValue[] {
  const records = readRecords(columns);
  for (const { row, name, value } of unheld) setField(records[row] as JsonObject, name, value);
  return records;
}

export function collectColumns(fields: readonly CopyField[]): Collector {
  const names = fields.map((field) => field.name);
  const writer = new CopyTextWriter(fields, FIRST_CAPACITY);
  const spareBytes: Buffer<ArrayBuffer>[] = [];
  const spareCells: Column[][] = [];
  const makeCells = (rows: number): Column[] => fields.map(() => cellsOf(rows));
  let cells = makeCells(FIRST_ROWS);
  let capacity = FIRST_ROWS;
  let count = 0;
  let unheld: UnheldValue[] = [];
  // oxlint-disable-next-line max-params
  const mark: MarkCell = (column, start, end, kind, value) => {
    if (value !== undefined) unheld.push({ row: count, name: names[column] ?? '', value });
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
      const columns = new Columns({ names, columns: used, height: count, cells: bytes });
      const page =
        unheld.length === 0
          ? Page.ofColumns(columns, { ...options, release })
          : Page.ofRecords(recordsOf(columns, unheld), options);
      unheld = [];
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
