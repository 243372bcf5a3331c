import { PageFill } from '../../../kit/page-bounds.ts';
import { isUtf8 } from 'node:buffer';
import { ByteWriter } from '../../../kit/byte-writer.ts';
import { isExactInCells } from '../../../kit/cells.ts';
import { readRecords } from '../../../kit/column-records.ts';
import { Page } from '../../../kit/page.ts';
import type { RecordSchema } from '../../../kit/record-schema.ts';
import { isObject, stringifyJson, type JsonValue } from '../../../lib/text/json.ts';
import { rememberSpelling } from '../../../lib/text/number-spelling.ts';
import { CellMarks } from '../../../kit/cell-marks.ts';
import { LineCells, MOST_COLUMNS, withKeysOf } from './json-line-cells.ts';
import { pagesOfLines, type LinePageMaker, type LinePageOptions } from './json-line-pages.ts';
import { spellingOfLine, valueOfLine } from './json-lines-file.ts';

const LINE_FEED = 10;

/**
 * The pages of a JSON Lines stream as columns. A page whose lines do not share an order of keys
 * holds records instead.
 */
export function jsonColumnPages(
  blocks: AsyncIterable<Uint8Array>,
  options: LinePageOptions,
): AsyncGenerator<Page> {
  return pagesOfLines(blocks, options, new ColumnPages(options));
}

class ColumnPages implements LinePageMaker {
  left: number;
  readonly #options: LinePageOptions;
  readonly #fill: PageFill;
  readonly #out = new ByteWriter();
  readonly #spareMarks: CellMarks[] = [];
  #marks = new CellMarks();
  #cells = new LineCells([]);
  /** Keys known for the next pages. */
  #names: readonly string[] = [];
  /** The records of the page, as soon as one of its lines does not fit the columns. */
  #records: JsonValue[] | undefined;
  #line = 1;
  #stretch: Buffer = Buffer.alloc(0);
  #utf8 = true;
  #at = 0;
  /** Lines from here to `#at` are marked but not copied yet. */
  #copyFrom = 0;

  constructor(options: LinePageOptions) {
    this.#options = options;
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
      const end = this.#mark();
      if (end === -1 ? !this.#addParsed() : !this.#add(end - this.#at + 1)) {
        this.#copy();
        return true;
      }
      if (end !== -1) this.#pass(end);
    }
    this.#copy();
    return false;
  }

  take(): Page {
    const page =
      this.#records === undefined
        ? this.#takeColumns()
        : Page.ofRecords(this.#records, { bytes: this.#fill.bytes, schema: this.#schema });
    this.#records = undefined;
    this.#out.length = 0;
    this.#fill.clear();
    this.#cells.areJoined = true;
    if (this.#names !== this.#cells.names) this.#nameCells(this.#names);
    return page;
  }

  get #schema(): RecordSchema | undefined {
    return this.#options.order?.schema;
  }

  #takeColumns(): Page {
    const marks = this.#marks;
    marks.count = this.count;
    const inLines = this.#cells.areJoined;
    const { writer, release } = this.#out.split();
    this.#marks = this.#spareMarks.pop() ?? new CellMarks();
    this.#marks.setWidth(this.#cells.names.length);
    return Page.ofColumns(marks.columns(this.#cells.names, writer, { inLines }), {
      bytes: this.#fill.bytes,
      schema: this.#schema,
      release: () => {
        this.#spareMarks.push(marks);
        release();
      },
    });
  }

  /** Marks the cells of the next line; -1 when it has to be parsed. */
  #mark(): number {
    if (this.#records !== undefined || !this.#utf8) return -1;
    return this.#markAt(this.#stretch, this.#at, {
      row: this.count,
      shift: this.#out.length - this.#copyFrom,
    });
  }

  #markAt(bytes: Uint8Array, start: number, place: { row: number; shift: number }): number {
    const marks = this.#marks;
    marks.count = place.row;
    while (place.row >= marks.capacity) marks.grow();
    return this.#cells.mark(bytes, start, { marks, ...place });
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
    if (value !== undefined && !this.#add(end - this.#at + 1)) return false;
    this.#copy();
    if (value !== undefined) this.#takeValue(value, spellingOfLine(value, bytes));
    this.#pass(end);
    this.#copyFrom = this.#at;
    return true;
  }

  /**
   * A line that is not in canonical form may still have the same cells; the first line defines the
   * keys.
   */
  #takeValue(value: JsonValue, spelled: string | undefined): void {
    if (this.#records === undefined) {
      const names = withKeysOf(this.#names, value);
      if (names !== undefined && names.length <= MOST_COLUMNS) this.#names = names;
      if (this.count === 1) this.#nameCells(names ?? (isObject(value) ? Object.keys(value) : []));
      if (this.#markWritten(value)) return;
      this.#makeRecords();
    }
    const length = this.#records?.push(value) ?? 0;
    if (spelled !== undefined && this.#records !== undefined)
      rememberSpelling(this.#records, String(length - 1), spelled);
  }

  #markWritten(value: JsonValue): boolean {
    if (withKeysOf(this.#cells.names, value) !== this.#cells.names || !isExactInCells(value))
      return false;
    const start = this.#out.length;
    this.#out.append(Buffer.from(`${stringifyJson(value)}\n`));
    return (
      this.#markAt(this.#out.bytes.subarray(0, this.#out.length), start, {
        row: this.count - 1,
        shift: 0,
      }) !== -1
    );
  }

  /** Makes records from all lines of the page except the last. */
  #makeRecords(): void {
    this.#marks.count = this.count - 1;
    this.#records = readRecords(
      this.#marks.columns(this.#cells.names, this.#out, { inLines: false }),
    );
  }

  #nameCells(names: readonly string[]): void {
    const known = names.length <= MOST_COLUMNS ? names : [];
    this.#names = known;
    this.#cells = new LineCells(known);
    this.#marks.setWidth(known.length);
  }

  #pass(end: number): void {
    this.#at = Math.min(end + 1, this.#stretch.length);
    this.#line += 1;
  }

  #copy(): void {
    if (this.#copyFrom < this.#at)
      this.#out.append(this.#stretch.subarray(this.#copyFrom, this.#at));
    this.#copyFrom = this.#at;
  }
}
