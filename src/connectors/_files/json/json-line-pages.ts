import { isUtf8 } from 'node:buffer';
import { JSON_LINES } from '../../../kit/json-lines.ts';
import { Page } from '../../../kit/page.ts';
import { learningWriter, type WriteRecord } from '../../../kit/record-text.ts';
import { ByteWriter } from '../../../kit/byte-writer.ts';
import { CompactJson } from './compact-json.ts';
import { spellingOfLine, valueOfLine, wholeLines, type LineOptions } from './json-lines-file.ts';
import { withoutBom } from '../csv/csv-rows.ts';
import { PageFill, type PageBounds } from '../../../kit/page-bounds.ts';

const LINE_FEED = 10;

export interface LinePageOptions extends LineOptions {
  readonly bounds: PageBounds;
  readonly limit?: number | undefined;
  /** Checked before every page. */
  readonly signal: AbortSignal;
}

/** Makes pages from lines, in one form or another. The form does not change where pages are cut. */
export interface LinePageMaker {
  readonly count: number;
  /** The number of the next line. */
  readonly line: number;
  /** Number of records still to read. */
  readonly left: number;
  open(stretch: Buffer): void;
  /**
   * Reads lines until the page is full (true), the stretch is read, or enough records were read.
   */
  fill(): boolean;
  take(): Page;
}

/**
 * The pages of a JSON Lines stream in the bytes lane. Lines that are already compact are copied,
 * many at once; the others are parsed and written again. The result is the same as with records.
 */
export function jsonLinePages(
  blocks: AsyncIterable<Uint8Array>,
  options: LinePageOptions,
): AsyncGenerator<Page> {
  return pagesOfLines(blocks, options, new LinePages(options));
}

export async function* pagesOfLines(
  blocks: AsyncIterable<Uint8Array>,
  options: LinePageOptions,
  pages: LinePageMaker,
): AsyncGenerator<Page> {
  if (pages.left <= 0) return;
  for await (const stretch of wholeLines(withoutBom(blocks), options.name, () => pages.line)) {
    pages.open(stretch);
    while (pages.fill()) {
      options.signal.throwIfAborted();
      yield pages.take();
    }
    if (pages.left === 0) break;
  }
  options.signal.throwIfAborted();
  if (pages.count > 0) yield pages.take();
}

class LinePages implements LinePageMaker {
  left: number;
  readonly #options: LinePageOptions;
  readonly #fill: PageFill;
  readonly #compact = new CompactJson();
  readonly #out = new ByteWriter();
  readonly #write: WriteRecord;
  #line = 1;
  #stretch: Buffer = Buffer.alloc(0);
  #utf8 = true;
  #at = 0;
  /** Lines from here to `#at` are in the page but not copied yet. */
  #copyFrom = 0;

  constructor(options: LinePageOptions) {
    this.#options = options;
    this.#write = learningWriter(() => options.order?.schema);
    this.#fill = new PageFill(options.bounds);
    this.left = options.limit ?? Infinity;
  }

  get count(): number {
    return this.#fill.count;
  }

  get line(): number {
    return this.#line;
  }

  open(stretch: Buffer): void {
    this.#stretch = stretch;
    this.#utf8 = isUtf8(stretch);
    this.#at = 0;
    this.#copyFrom = 0;
  }

  fill(): boolean {
    const stretch = this.#stretch;
    while (this.#at < stretch.length && this.left > 0) {
      const compactEnd = this.#utf8 ? this.#compact.lineEnd(stretch, this.#at) : -1;
      const fits = compactEnd === -1 ? this.#addParsed() : this.#add(compactEnd + 1 - this.#at);
      if (!fits) {
        this.#copy();
        return true;
      }
      if (compactEnd === -1) continue;
      this.#at = compactEnd + 1;
      this.#line += 1;
    }
    this.#copy();
    return false;
  }

  take(): Page {
    const { bytes, release } = this.#out.take();
    const { order } = this.#options;
    order?.lookAtFirst(bytes);
    const page = Page.ofBlock(JSON_LINES, bytes, this.count, { schema: order?.schema, release });
    this.#fill.clear();
    return page;
  }

  /** Counts a line; false when the page is full. */
  #add(size: number): boolean {
    if (!this.#fill.add(size)) return false;
    this.left -= 1;
    return true;
  }

  #addParsed(): boolean {
    const stretch = this.#stretch;
    const newline = stretch.indexOf(LINE_FEED, this.#at);
    const end = newline === -1 ? stretch.length : newline;
    const bytes = stretch.subarray(this.#at, end);
    const value = valueOfLine(bytes, {
      utf8: this.#utf8,
      line: this.#line,
      options: this.#options,
    });
    if (value !== undefined) {
      if (!this.#add(end - this.#at + 1)) return false;
      this.#copy();
      const written = spellingOfLine(value, bytes) ?? this.#write(value);
      this.#out.append(Buffer.from(`${written}\n`));
    } else this.#copy();
    this.#at = Math.min(end + 1, stretch.length);
    this.#copyFrom = this.#at;
    this.#line += 1;
    return true;
  }

  #copy(): void {
    if (this.#copyFrom < this.#at)
      this.#out.append(this.#stretch.subarray(this.#copyFrom, this.#at));
    this.#copyFrom = this.#at;
  }
}
