/**
 * Cuts a stream of binary COPY rows into pages without changing the bytes: only the lengths of
 * messages are read, and values where pages end.
 */
import type { JsonValue } from '../../../lib/text/json.ts';
import { isFull, type PageBounds } from '../../../kit/page-bounds.ts';
import { Page, type Encoding } from '../../../kit/page.ts';
import type { RecordSchema } from '../../../kit/record-schema.ts';
import type { Bookmarks } from '../../_sql/bookmarks.ts';
import { BINARY_HEAD, binaryEncoding, nameColumns } from './binary-rows.ts';
import { FRAME_HEAD, frameEnd } from '../../_sql/copy-text/frames.ts';
import type { BigNumbers, CopyColumn } from '../../_postgres/decode.ts';

/** Rows between two bookmarks; each bookmark costs the destination a commit. */
export const BOOKMARK_ROWS = 50_000;
const EXTENSION_AT = 15;
const COPY_DATA = 100;
const FIRST_CAPACITY = 64 * 1024;
/** Blocks in use: one being written, one waiting, one being filled. */
const SPARE_BLOCKS = 3;

export interface PassageOptions {
  readonly columns: readonly CopyColumn[];
  readonly bigNumbers: BigNumbers;
  readonly bounds: PageBounds;
  readonly schema: RecordSchema;
  readonly signal: AbortSignal;
  readonly marks?:
    | { readonly bookmarks: Bookmarks; readonly column: number; readonly every: number }
    | undefined;
}

export async function* passagePages(
  chunks: AsyncIterable<Buffer>,
  options: PassageOptions,
): AsyncGenerator<Page, void> {
  const { bounds } = options;
  const block = new BlockCollector(options);
  let started = false;
  for await (const chunk of chunks) {
    let at = started ? 0 : withoutHead(chunk);
    started = true;
    let from = at;
    while (at < chunk.length) {
      const to = frameEnd(chunk, at);
      const before = block.length + at - from;
      if (isTail(chunk, at)) {
        block.add(chunk, from, at);
        from = to;
      } else if (block.wasRead(chunk, at, to)) {
        block.add(chunk, from, at);
        from = to;
      } else {
        if (isFull(bounds, block.count, before)) {
          block.add(chunk, from, at);
          from = at;
          yield block.take(chunk, at);
          options.signal.throwIfAborted();
        }
        block.nextRow(block.length + at - from);
      }
      at = to;
    }
    block.add(chunk, from, at);
  }
  if (block.count > 0) yield block.takeLast();
}

/** Collects rows in blocks; a block is reused after its page was moved. */
class BlockCollector {
  length = 0;
  count = 0;
  /** Positions of the last row and of the one before it. */
  #lastRow = 0;
  #rowBefore = 0;
  readonly #columns: readonly CopyColumn[];
  readonly #encoding: Encoding;
  /** For digests of rows, whatever numbers they hold. */
  readonly #exact: Encoding;
  readonly #marks: PassageOptions['marks'];
  readonly #schema: RecordSchema;
  readonly #spare: Buffer[] = [];
  #out: Buffer = Buffer.allocUnsafeSlow(FIRST_CAPACITY);
  /** Rows since the last bookmark. */
  #unmarked = 0;

  constructor({ columns, bigNumbers, marks, schema }: PassageOptions) {
    this.#schema = schema;
    this.#columns = columns;
    this.#encoding = binaryEncoding(columns, bigNumbers);
    this.#exact = binaryEncoding(columns, 'string');
    this.#marks = marks;
  }

  add(chunk: Buffer, from: number, to: number): void {
    if (from >= to) return;
    const needed = this.length + to - from;
    if (needed > this.#out.length) {
      // Separate buffers, never parts of a shared one: `nameColumns` uses the buffer as a key.
      const larger = Buffer.allocUnsafeSlow(Math.max(needed, this.#out.length * 2));
      this.#out.copy(larger, 0, 0, this.length);
      this.#out = larger;
    }
    chunk.copy(this.#out, this.length, from, to);
    this.length = needed;
  }

  nextRow(position: number): void {
    this.#rowBefore = this.#lastRow;
    this.#lastRow = position;
    this.count += 1;
  }

  /** Whether an earlier run has read the row. */
  wasRead(chunk: Buffer, at: number, to: number): boolean {
    const marks = this.#marks;
    return (
      marks !== undefined &&
      marks.bookmarks.mayRepeat &&
      marks.bookmarks.wasRead(valueAt(chunk, at, marks.column), () => this.#record(chunk, at, to))
    );
  }

  /** The page that ends before the row at `next`. */
  take(chunk: Buffer, next: number): Page {
    const marks = this.#marks;
    if (marks === undefined) return this.#page(undefined);
    this.#passTail(marks);
    return this.#page(
      this.#unmarked + this.count < marks.every
        ? undefined
        : marks.bookmarks.before(valueAt(chunk, next, marks.column)),
    );
  }

  takeLast(): Page {
    const marks = this.#marks;
    if (marks === undefined) return this.#page(undefined);
    this.#passTail(marks);
    return this.#page(marks.bookmarks.end());
  }

  /** Passes the rows with the last value, and before them one with another value, if any. */
  #passTail({ bookmarks, column }: NonNullable<PassageOptions['marks']>): void {
    const last = valueAt(this.#out, this.#lastRow, column);
    const isLast = (at: number) => bookmarks.isSame(valueAt(this.#out, at, column), last);
    let rows = this.count > 1 ? [this.#rowBefore, this.#lastRow] : [this.#lastRow];
    if (this.count > 2 && isLast(this.#rowBefore)) {
      rows = [];
      for (let at = 0; at < this.length; at = frameEnd(this.#out, at)) rows.push(at);
      rows = rows.slice(
        Math.max(
          0,
          rows.findLastIndex((at) => !isLast(at)),
        ),
      );
    }
    for (const at of rows)
      bookmarks.pass(valueAt(this.#out, at, column), () =>
        this.#record(this.#out, at, frameEnd(this.#out, at)),
      );
    // The block is used again.
    bookmarks.settle();
  }

  #record(chunk: Buffer, at: number, to: number): JsonValue {
    const [record = null] = this.#exact.decode(chunk.subarray(at, to));
    return record;
  }

  #page(bookmark: JsonValue | undefined): Page {
    const [block, length] = [this.#out, this.length];
    this.#unmarked = bookmark === undefined ? this.#unmarked + this.count : 0;
    nameColumns(block, this.#columns);
    const release = (): void => void (this.#spare.length < SPARE_BLOCKS && this.#spare.push(block));
    const options = {
      bytes: length - this.count * FRAME_HEAD,
      release,
      schema: this.#schema,
      ...(bookmark === undefined ? {} : { bookmark }),
    };
    const page = Page.ofBlock(this.#encoding, block.subarray(0, length), this.count, options);
    this.#out =
      this.#spare.pop() ??
      Buffer.allocUnsafeSlow(Math.max(FIRST_CAPACITY, Math.ceil(length * 1.1)));
    this.length = 0;
    this.count = 0;
    return page;
  }
}

/**
 * Skips the head of the stream, which is part of the first message, and rewrites the header of that
 * message. Returns where the first row starts.
 */
function withoutHead(chunk: Buffer): number {
  const end = frameEnd(chunk, 0);
  const head = BINARY_HEAD.length + chunk.readInt32BE(FRAME_HEAD + EXTENSION_AT);
  if (FRAME_HEAD + head === end) return end;
  chunk[head] = COPY_DATA;
  chunk.writeUInt32BE(end - head - 1, head + 1);
  return head;
}

/** The last message has a row with -1 values. */
function isTail(chunk: Buffer, frame: number): boolean {
  return ((chunk[frame + FRAME_HEAD] as number) & 0x80) !== 0;
}

/** The raw value of a column of the row in a message. */
function valueAt(chunk: Buffer, frame: number, column: number): string {
  let at = frame + FRAME_HEAD + 2;
  for (let passed = 0; passed < column; passed += 1) at += 4 + Math.max(0, chunk.readInt32BE(at));
  return chunk.toString('latin1', at + 4, at + 4 + Math.max(0, chunk.readInt32BE(at)));
}
