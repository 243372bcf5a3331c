import { isUtf8 } from 'node:buffer';
import {
  BYTE_ORDER_MARK,
  CARRIAGE_RETURN,
  LINE_FEED,
  type CsvDialect,
} from '../../../kit/csv-dialect.ts';
import { ConnectorError } from '../../../lib/errors.ts';

/** A row that does not end within this many bytes is treated as an unclosed quote. */
export const MAX_ROW_BYTES = 64 * 1024 * 1024;

/**
 * Finds rows and cells in bytes by the rules of `CsvDialect`. It stores positions and copies
 * nothing.
 */
export class CsvScanner {
  readonly dialect: CsvDialect;
  /**
   * Two numbers per cell: where its text starts and where it ends. An end of `~e` means that the
   * cell must be unquoted first.
   */
  cells = new Int32Array(256);
  cellCount = 0;
  /** First cell of row `i`; one more entry than there are rows. */
  rowCells: number[] = [0];
  /** Where row `i` starts in the bytes; the entry after the last is where the last one ends. */
  rowStarts: number[] = [];
  /** Line of the file on which row `i` starts, counted from 1. */
  rowLines: number[] = [];
  /** The line on which the next row starts. */
  line = 1;
  /**
   * Whether the last byte read was a carriage return: a line feed directly after it does not end
   * another line.
   */
  afterReturn = false;

  constructor(dialect: CsvDialect) {
    this.dialect = dialect;
  }

  get rowCount(): number {
    return this.rowLines.length;
  }

  /**
   * Reads complete rows of `bytes` from `from` on, at most `most`. Returns where the first row that
   * was not read starts.
   */
  scan(bytes: Uint8Array, from = 0, most = Infinity): number {
    this.cellCount = 0;
    this.rowCells = [0];
    this.rowStarts = [];
    this.rowLines = [];
    let at = from;
    while (at < bytes.length && this.rowLines.length < most) {
      const byte = bytes[at];
      if (byte === LINE_FEED || byte === CARRIAGE_RETURN) {
        this.#endLine(byte);
        at += 1;
        continue;
      }
      const line = this.line;
      const end = this.#row(bytes, at);
      if (end === -1) {
        this.line = line;
        this.cellCount = this.rowCells.at(-1) ?? 0;
        break;
      }
      this.afterReturn = false;
      this.#endLine(bytes[end] ?? LINE_FEED);
      this.rowCells.push(this.cellCount);
      this.rowStarts.push(at);
      this.rowLines.push(line);
      at = end + 1;
    }
    this.rowStarts.push(at);
    return at;
  }

  /** Passes over the line that starts at `from`; returns where the next one does, or -1. */
  skipLine(bytes: Uint8Array, from: number): number {
    let at = from;
    while (at < bytes.length && bytes[at] !== LINE_FEED && bytes[at] !== CARRIAGE_RETURN) at += 1;
    if (at === bytes.length) return -1;
    this.afterReturn = false;
    this.#endLine(bytes[at] ?? LINE_FEED);
    return at + 1;
  }

  /** The second byte of CRLF may be in the next block; it does not end another line. */
  #endLine(byte: number): void {
    if (byte === LINE_FEED && this.afterReturn) {
      this.afterReturn = false;
      return;
    }
    this.line += 1;
    this.afterReturn = byte === CARRIAGE_RETURN;
  }

  /** Reads one row; returns the position of its line end, or -1 when the bytes end first. */
  #row(bytes: Uint8Array, start: number): number {
    const { delimiter, quote } = this.dialect;
    let at = start;
    for (;;) {
      at = bytes[at] === quote ? this.#quotedCell(bytes, at) : this.#plainCell(bytes, at, at);
      if (at === -1 || bytes[at] !== delimiter) return at;
      at += 1;
    }
  }

  /** Reads to the end of a cell that starts at `start`; from `from` on it has no quotes. */
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
      if (byte === LINE_FEED) this.line += 1;
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

/**
 * Bytes of a stream that hold complete rows, and perhaps the start of another one. Valid until the
 * next stretch is requested.
 */
export interface Stretch {
  readonly bytes: Buffer;
  /** Every complete row ends here or before. */
  readonly end: number;
  /** Where `bytes` start in the stream. */
  readonly offset: number;
  /** Every byte up to `end` is UTF-8. */
  readonly utf8: boolean;
  /** Where the first unread row starts; the reader updates it. */
  at: number;
}

/** A row whose end was not found: a quote is probably not closed. */
export interface UnclosedRow {
  readonly stretch: Stretch;
  /** Where its first line ends. */
  readonly lineEnd: number;
  readonly error: ConnectorError;
}

/**
 * Cuts a stream into stretches; the consumer reads all complete rows of each. A byte order mark is
 * not removed. Errors show `name`. `onUnclosed` takes the first line of a row that does not end, and
 * reading goes on behind that line; it may throw.
 */
export async function* csvStretches(
  blocks: AsyncIterable<Uint8Array>,
  scanner: CsvScanner,
  name: string,
  onUnclosed: (row: UnclosedRow) => void = refuse,
): AsyncGenerator<Stretch> {
  const tail = new Tail();
  const leaveLine = (stretch: Stretch, says: string): void => {
    const error = unclosed(name, scanner.line, says);
    const lineEnd = scanner.skipLine(stretch.bytes, stretch.at);
    // What follows is a part of the same line, and no row.
    if (lineEnd === -1) throw error;
    onUnclosed({ stretch, lineEnd, error });
    tail.keepFrom(lineEnd);
  };
  for await (const block of blocks) {
    if (!tail.add(block)) continue;
    let stretch = tail.stretch();
    if (stretch.end > 0) yield stretch;
    tail.keepFrom(stretch.at);
    while (tail.length > MAX_ROW_BYTES) {
      leaveLine(tail.stretch(), `does not end within ${MAX_ROW_BYTES} bytes`);
      stretch = tail.stretch();
      if (stretch.end > 0) yield stretch;
      tail.keepFrom(stretch.at);
    }
  }
  tail.add(Uint8Array.of(LINE_FEED));
  for (;;) {
    const stretch = tail.stretch();
    yield stretch;
    tail.keepFrom(stretch.at);
    if (tail.length === 0) return;
    leaveLine(tail.stretch(), 'does not end');
  }
}

function refuse({ error }: UnclosedRow): never {
  throw error;
}

/** Rows found in a stretch of bytes. Valid until the next one is requested. */
export interface RowBatch {
  readonly bytes: Buffer;
  readonly scanner: CsvScanner;
  /** Where `bytes` start in the stream. */
  readonly offset: number;
}

/** Finds the rows of a stream of blocks. A byte order mark is not removed. Errors show `name`. */
export async function* csvRows(
  blocks: AsyncIterable<Uint8Array>,
  dialect: CsvDialect,
  name: string,
): AsyncGenerator<RowBatch> {
  const scanner = new CsvScanner(dialect);
  for await (const stretch of csvStretches(blocks, scanner, name)) {
    stretch.at = scanner.scan(stretch.bytes);
    if (scanner.rowCount > 0) yield { bytes: stretch.bytes, scanner, offset: stretch.offset };
  }
}

function unclosed(name: string, line: number, says: string): ConnectorError {
  return new ConnectorError('data', `line ${line} of ${name}: the row that starts here ${says}`, {
    hint: 'a quote is probably not closed, or `quote` is not the right one',
  });
}

const NOTHING = Buffer.alloc(0);

/** The bytes of an incomplete row and what follows, kept in one buffer that is reused. */
class Tail {
  #buffer = NOTHING;
  length = 0;
  /** Bytes dropped so far. */
  #offset = 0;
  /** The number of bytes from which scanning again is worthwhile. */
  #worthwhile = 0;

  /** Adds a block; true when it is worthwhile to look for rows. */
  add(block: Uint8Array): boolean {
    if (block.length === 0) return false;
    const wanted = this.length + block.length;
    if (wanted > this.#buffer.length) {
      const larger = Buffer.allocUnsafeSlow(wanted * 2);
      larger.set(this.#buffer.subarray(0, this.length));
      this.#buffer = larger;
    }
    this.#buffer.set(block, this.length);
    this.length = wanted;
    return wanted >= this.#worthwhile;
  }

  stretch(): Stretch {
    const bytes = this.#buffer.subarray(0, this.length);
    const end = Math.max(bytes.lastIndexOf(LINE_FEED), bytes.lastIndexOf(CARRIAGE_RETURN)) + 1;
    const lines = bytes.subarray(0, end);
    return { bytes, end, offset: this.#offset, utf8: isUtf8(lines), at: 0 };
  }

  /**
   * Drops the bytes that were read. A row that is longer than all bytes so far is scanned again
   * only when their number has doubled.
   */
  keepFrom(consumed: number): void {
    this.#worthwhile = consumed === 0 ? this.length * 2 : 0;
    this.#buffer.copyWithin(0, consumed, this.length);
    this.length -= consumed;
    this.#offset += consumed;
  }
}

/** Drops the byte order mark at the start of a stream, and tells its length where there is one. */
export async function* withoutBom(
  blocks: AsyncIterable<Uint8Array>,
  onMark?: (length: number) => void,
): AsyncGenerator<Uint8Array> {
  let head: Uint8Array | undefined = new Uint8Array();
  for await (const block of blocks) {
    if (head === undefined) {
      yield block;
      continue;
    }
    head = head.length === 0 ? block : Buffer.concat([head, block]);
    if (head.length < BYTE_ORDER_MARK.length) continue;
    const isMarked = BYTE_ORDER_MARK.every((byte, index) => head?.[index] === byte);
    if (isMarked) onMark?.(BYTE_ORDER_MARK.length);
    yield isMarked ? head.subarray(BYTE_ORDER_MARK.length) : head;
    head = undefined;
  }
  if (head !== undefined && head.length > 0) yield head;
}
