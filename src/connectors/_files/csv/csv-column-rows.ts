/** Writes columns as delimited text, with the same bytes as for their records. */
import { ByteWriter } from '../../../kit/byte-writer.ts';
import { readText } from '../../../kit/cells.ts';
import { ESCAPED, MISSING, NULL, type Column, type Columns } from '../../../kit/columns.ts';
import { CsvFormat, type CsvOutput } from './csv-writer.ts';

const LINE_FEED = 10;
const RETURN = 13;
const NONE: Column = {
  starts: new Uint32Array(),
  ends: new Uint32Array(),
  kinds: new Uint8Array(),
};
/** Quotes around a cell, and the delimiter or line end after it. */
const CELL_ROOM = 4;
/** UTF-8 bytes per UTF-16 unit, with room for doubled quotes. */
const MOST_BYTES_A_UNIT = 4;

export class CsvColumnRows {
  readonly #output: CsvOutput;
  readonly #format: CsvFormat;
  /** 1 for bytes that must be quoted. */
  readonly #special = new Uint8Array(256);
  /** Reused for every page: what `write` returned is valid until the next call. */
  readonly #out = new ByteWriter();

  /** Delimiter and quote are ASCII. */
  constructor(output: CsvOutput) {
    this.#output = output;
    this.#format = new CsvFormat(output);
    for (const byte of [LINE_FEED, RETURN, output.delimiter, output.quote]) this.#special[byte] = 1;
  }

  /** One line per row, with these columns. */
  write(columns: Columns, names: readonly string[]): Uint8Array {
    const { rows, cells } = columns;
    const chosen = names.map((name) => columns.column(name) ?? NONE);
    const out = this.#out;
    out.length = 0;
    for (let index = 0; index < rows.length; index += 1) {
      const row = rows[index] as number;
      const start = out.length;
      for (let column = 0; column < chosen.length; column += 1) {
        if (column > 0) out.bytes[out.length++] = this.#output.delimiter;
        this.#cell(cells.bytes, chosen[column] as Column, row);
      }
      out.ensure(CELL_ROOM);
      // A lone empty cell would be a blank line, which readers skip.
      if (chosen.length === 1 && out.length === start) {
        out.bytes[out.length++] = this.#output.quote;
        out.bytes[out.length++] = this.#output.quote;
      }
      out.bytes[out.length++] = LINE_FEED;
    }
    return out.bytes.subarray(0, out.length);
  }

  /** Leaves room for the delimiter. */
  #cell(cells: Buffer, { starts, ends, kinds }: Column, row: number): void {
    const kind = kinds[row] ?? MISSING;
    const [start, end] = kind <= NULL ? [0, 0] : [starts[row] as number, ends[row] as number];
    this.#out.ensure((end - start) * 2 + CELL_ROOM);
    if (kind === ESCAPED) this.#text(readText(cells, start, end, kind));
    else if (!this.#copied(cells, start, end)) this.#quoted(cells, start, end);
  }

  /** Copies a cell that needs no quotes. False, with nothing written, when it needs them. */
  #copied(cells: Buffer, start: number, end: number): boolean {
    const out = this.#out;
    const { bytes } = out;
    let to = out.length;
    for (let at = start; at < end; at += 1) {
      const byte = cells[at] as number;
      if (this.#special[byte] === 1) return false;
      bytes[to++] = byte;
    }
    out.length = to;
    return true;
  }

  #quoted(cells: Buffer, start: number, end: number): void {
    const out = this.#out;
    const { bytes } = out;
    const { quote } = this.#output;
    let to = out.length;
    bytes[to++] = quote;
    for (let at = start; at < end; at += 1) {
      const byte = cells[at] as number;
      bytes[to++] = byte;
      if (byte === quote) bytes[to++] = quote;
    }
    bytes[to++] = quote;
    out.length = to;
  }

  #text(text: string): void {
    const out = this.#out;
    out.ensure(text.length * MOST_BYTES_A_UNIT + CELL_ROOM);
    out.length += out.bytes.write(this.#format.cell(text), out.length);
  }
}

/** The names that at least one record has, in the order in which they first appear. */
export function fieldsInOrder({ names, columns, rows }: Columns): string[] {
  const found = names.flatMap((name, index) => {
    const { kinds } = columns[index] as Column;
    const first = rows.findIndex((row) => kinds[row] !== MISSING);
    return first === -1 ? [] : [{ name, first }];
  });
  return found.sort((a, b) => a.first - b.first).map(({ name }) => name);
}
