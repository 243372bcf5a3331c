import { isAscii, isUtf8 } from 'node:buffer';
import { ConnectorError } from '../../lib/errors.ts';

/** How cells are told apart. Both are single ASCII bytes. */
export interface CsvDialect {
  readonly delimiter: number;
  readonly quote: number;
}

const LINE_FEED = 10;
const CARRIAGE_RETURN = 13;
const BOM = [0xef, 0xbb, 0xbf];

/** A row that does not end within this many bytes is taken for an unclosed quote. */
export const MAX_ROW_BYTES = 64 * 1024 * 1024;

/**
 * Finds rows and cells in bytes (RFC 4180; CR, LF and CRLF end a row; blank lines are no rows; a quote is special only at the start
 * of a cell, and what follows the closing quote belongs to the cell as it stands). Keeps where they are, copies nothing.
 */
export class CsvScanner {
  readonly dialect: CsvDialect;
  /** Two numbers a cell: where its text starts, and where it ends. An end of `~e` means the cell must be unquoted first. */
  cells = new Int32Array(4096);
  cellCount = 0;
  /** First cell of row `i`; one more entry than there are rows. */
  rowCells: number[] = [0];
  /** Where row `i` starts in the bytes; the entry after the last is where the last one ends. */
  rowStarts: number[] = [];
  /** Line of the file on which row `i` starts, counted from 1. */
  rowLines: number[] = [];
  #line = 1;
  #afterReturn = false;

  constructor(dialect: CsvDialect) {
    this.dialect = dialect;
  }

  get rowCount(): number {
    return this.rowLines.length;
  }

  /** The line on which the next row starts. */
  get nextLine(): number {
    return this.#line;
  }

  /** Reads every whole row of `bytes` and returns where the first incomplete one starts. */
  scan(bytes: Uint8Array): number {
    this.cellCount = 0;
    this.rowCells = [0];
    this.rowStarts = [];
    this.rowLines = [];
    let at = 0;
    while (at < bytes.length) {
      const byte = bytes[at];
      if (byte === LINE_FEED || byte === CARRIAGE_RETURN) {
        this.#endLine(byte);
        at += 1;
        continue;
      }
      const line = this.#line;
      const end = this.#row(bytes, at);
      if (end === -1) {
        this.#line = line;
        this.cellCount = this.rowCells.at(-1) ?? 0;
        break;
      }
      this.#afterReturn = false;
      this.#endLine(bytes[end] ?? LINE_FEED);
      this.rowCells.push(this.cellCount);
      this.rowStarts.push(at);
      this.rowLines.push(line);
      at = end + 1;
    }
    return at;
  }

  /** The second byte of CRLF may come with the next block: it ends no line of its own. */
  #endLine(byte: number): void {
    if (byte === LINE_FEED && this.#afterReturn) {
      this.#afterReturn = false;
      return;
    }
    this.#line += 1;
    this.#afterReturn = byte === CARRIAGE_RETURN;
  }

  /** Reads one row; returns where its line end stands, or -1 when the bytes end before. */
  #row(bytes: Uint8Array, start: number): number {
    const { delimiter, quote } = this.dialect;
    let at = start;
    for (;;) {
      at = bytes[at] === quote ? this.#quotedCell(bytes, at) : this.#plainCell(bytes, at, at);
      if (at === -1 || bytes[at] !== delimiter) return at;
      at += 1;
    }
  }

  /** Reads up to the end of a cell that starts at `start` and is plain from `from` on. */
  #plainCell(bytes: Uint8Array, start: number, from: number): number {
    const { delimiter } = this.dialect;
    const length = bytes.length;
    for (let at = from; at < length; at += 1) {
      const byte = bytes[at];
      if (byte === delimiter || byte === LINE_FEED || byte === CARRIAGE_RETURN) {
        this.#push(start, from === start ? at : ~at);
        return at;
      }
    }
    return -1;
  }

  #quotedCell(bytes: Uint8Array, start: number): number {
    const { delimiter, quote } = this.dialect;
    const length = bytes.length;
    let doubled = false;
    for (let at = start + 1; at < length; at += 1) {
      const byte = bytes[at];
      if (byte === LINE_FEED) this.#line += 1;
      if (byte !== quote) continue;
      if (at + 1 === length) return -1;
      const next = bytes[at + 1];
      if (next === quote) {
        doubled = true;
        at += 1;
      } else if (next === delimiter || next === LINE_FEED || next === CARRIAGE_RETURN) {
        if (doubled) this.#push(start, ~(at + 1));
        else this.#push(start + 1, at);
        return at + 1;
      } else {
        return this.#plainCell(bytes, start, at + 1);
      }
    }
    return -1;
  }

  #push(start: number, end: number): void {
    const at = this.cellCount * 2;
    if (at === this.cells.length) {
      const larger = new Int32Array(this.cells.length * 2);
      larger.set(this.cells);
      this.cells = larger;
    }
    this.cells[at] = start;
    this.cells[at + 1] = end;
    this.cellCount += 1;
  }
}

/** Rows found in a stretch of bytes. Valid until the next one is asked for. */
export interface RowBatch {
  readonly bytes: Buffer;
  readonly scanner: CsvScanner;
  /** Where `bytes` start in the stream. */
  readonly offset: number;
  /** Every byte up to the end of the last row is ASCII. */
  readonly ascii: boolean;
  /** Every byte up to the end of the last row is UTF-8. */
  readonly utf8: boolean;
}

/** Finds the rows of a stream of blocks (a byte order mark is not taken away). `name` stands in errors. */
export async function* csvRows(blocks: AsyncIterable<Uint8Array>, dialect: CsvDialect, name: string): AsyncGenerator<RowBatch> {
  const scanner = new CsvScanner(dialect);
  const tail = new Tail();
  for await (const block of blocks) {
    if (!tail.add(block)) continue;
    yield* rowsOf(tail, scanner);
    if (tail.length > MAX_ROW_BYTES) throw unclosed(name, scanner.nextLine, `does not end within ${MAX_ROW_BYTES} bytes`);
  }
  tail.add(Uint8Array.of(LINE_FEED));
  yield* rowsOf(tail, scanner);
  if (tail.length > 0) throw unclosed(name, scanner.nextLine, 'does not end');
}

function* rowsOf(tail: Tail, scanner: CsvScanner): Generator<RowBatch> {
  const bytes = tail.bytes();
  const consumed = scanner.scan(bytes);
  if (scanner.rowCount > 0) {
    const read = bytes.subarray(0, consumed);
    scanner.rowStarts.push(consumed);
    const ascii = isAscii(read);
    yield { bytes, scanner, offset: tail.offset, ascii, utf8: ascii || isUtf8(read) };
  }
  tail.keepFrom(bytes, consumed);
}

function unclosed(name: string, line: number, says: string): ConnectorError {
  return new ConnectorError('data', `line ${line} of ${name}: the row that starts here ${says}`, {
    hint: 'a quote is probably not closed, or `quote` is not the right one',
  });
}

/** The bytes of a row that is not complete yet, and what comes after. */
class Tail {
  #parts: Uint8Array[] = [];
  length = 0;
  /** Bytes dropped so far. */
  offset = 0;
  /** Before this many bytes are there, looking again would find nothing new often enough to pay. */
  #worthwhile = 0;

  /** Whether it is time to look for rows. */
  add(block: Uint8Array): boolean {
    if (block.length === 0) return false;
    this.#parts.push(block);
    this.length += block.length;
    return this.length >= this.#worthwhile;
  }

  bytes(): Buffer {
    const [only] = this.#parts;
    const whole = this.#parts.length === 1 && only !== undefined ? asBuffer(only) : Buffer.concat(this.#parts, this.length);
    this.#parts = [whole];
    return whole;
  }

  /** Drops what was read. A row longer than all there was is looked at again only when the bytes have doubled. */
  keepFrom(bytes: Buffer, consumed: number): void {
    const rest = bytes.subarray(consumed);
    this.#worthwhile = consumed === 0 ? bytes.length * 2 : 0;
    this.#parts = rest.length === 0 ? [] : [rest];
    this.length = rest.length;
    this.offset += consumed;
  }
}

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/** Drops the byte order mark at the start of a stream. */
export async function* withoutBom(blocks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let head: Uint8Array | undefined = new Uint8Array();
  for await (const block of blocks) {
    if (head === undefined) {
      yield block;
      continue;
    }
    head = head.length === 0 ? block : Buffer.concat([head, block]);
    if (head.length < BOM.length) continue;
    yield BOM.every((byte, index) => head?.[index] === byte) ? head.subarray(BOM.length) : head;
    head = undefined;
  }
  if (head !== undefined && head.length > 0) yield head;
}
