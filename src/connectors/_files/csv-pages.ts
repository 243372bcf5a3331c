import { isUtf8 } from 'node:buffer';
import { JSON_LINES } from '../../kit/json-lines.ts';
import { Page, type Lane } from '../../kit/page.ts';
import { ConnectorError } from '../../lib/errors.ts';
import { setField, type JsonObject } from '../../lib/json.ts';
import { ByteWriter } from './byte-writer.ts';
import { CellReader, isOneOf, jsonSize, type CellText } from './csv-cells.ts';
import { CsvColumns } from './csv-columns.ts';
import { CsvLineKernel } from './csv-line-kernel.ts';
import { CsvScanner, csvStretches, withoutBom, type CsvDialect, type Stretch } from './csv-rows.ts';
import type { PageBounds } from './page-bounds.ts';

export interface CsvShape {
  readonly dialect: CsvDialect;
  readonly hasHeaders: boolean;
  /** Whether rows may have more or fewer cells than the header. */
  readonly flexible: boolean;
  /** Cell texts that stand for null. */
  readonly nullValues: readonly string[];
}

export interface CsvPageOptions {
  readonly shape: CsvShape;
  readonly lane: Lane;
  readonly bounds: PageBounds;
  readonly limit?: number | undefined;
  /** Looked at before every page. */
  readonly signal: AbortSignal;
  /** What errors call the input. */
  readonly name: string;
}

/** Reads delimited text into pages: straight to JSON Lines in the bytes lane, to objects in the records lane. */
export async function* csvPages(blocks: AsyncIterable<Uint8Array>, options: CsvPageOptions): AsyncGenerator<Page> {
  const { shape, lane, name, signal } = options;
  let left = options.limit ?? Infinity;
  if (left <= 0) return;
  const scanner = new CsvScanner(shape.dialect);
  let maker: PageMaker | undefined;
  for await (const stretch of csvStretches(withoutBom(blocks), scanner, name)) {
    if (maker === undefined) {
      const columns = columnsOf(stretch, scanner, options);
      if (columns === undefined) continue;
      maker = lane.form === 'bytes' ? new LinePages(columns, scanner, options) : new RecordPages(columns, scanner, options);
    }
    while (left > 0 && maker.fill(stretch, left)) {
      signal.throwIfAborted();
      left -= maker.count;
      yield maker.take();
    }
    if (left <= maker.count) break;
  }
  signal.throwIfAborted();
  if (maker !== undefined && maker.count > 0) yield maker.take();
}

/** Turns rows into one page at a time; the size of a page is that of its JSON Lines in either form. */
interface PageMaker {
  /** Records in the page at hand. */
  readonly count: number;
  /** Reads rows until the page is full (true) or the stretch holds no more whole rows; reads no more than `left` records a page. */
  fill(stretch: Stretch, left: number): boolean;
  take(): Page;
}

/** The names of the columns, taken from the first row; a header is read away. */
function columnsOf(stretch: Stretch, scanner: CsvScanner, options: CsvPageOptions): CsvColumns | undefined {
  const { hasHeaders, dialect } = options.shape;
  const { line, afterReturn } = scanner;
  const next = scanner.scan(stretch.bytes, stretch.at, 1);
  if (scanner.rowCount === 0) {
    stretch.at = next;
    return undefined;
  }
  checkText(stretch, scanner, 0, options.name);
  const columns = new CsvColumns(options.name);
  const reader = new CellReader(dialect.quote);
  for (let cell = 0; cell < scanner.cellCount; cell += 1) {
    columns.add(hasHeaders ? reader.string(stretch.bytes, scanner, cell) : `column_${cell}`, scanner.rowLines[0] ?? 1);
  }
  if (hasHeaders) stretch.at = next;
  else Object.assign(scanner, { line, afterReturn });
  return columns;
}

function checkText(stretch: Stretch, scanner: CsvScanner, row: number, name: string): void {
  if (stretch.utf8) return;
  const { rowStarts, rowLines } = scanner;
  if (isUtf8(stretch.bytes.subarray(rowStarts[row], rowStarts[row + 1]))) return;
  throw new ConnectorError('data', `line ${rowLines[row]} of ${name} is not UTF-8 text`, { hint: 'convert the file to UTF-8' });
}

/** Pages of the bytes lane. */
class LinePages implements PageMaker {
  count = 0;
  readonly #columns: CsvColumns;
  readonly #scanner: CsvScanner;
  readonly #options: CsvPageOptions;
  readonly #kernel: CsvLineKernel;
  readonly #out = new ByteWriter();

  constructor(columns: CsvColumns, scanner: CsvScanner, options: CsvPageOptions) {
    const { dialect, flexible, nullValues } = options.shape;
    this.#columns = columns;
    this.#scanner = scanner;
    this.#options = options;
    this.#kernel = new CsvLineKernel({ dialect, flexible, nullValues, pageBytes: options.bounds.bytes });
    this.#kernel.setColumns(columns.names);
  }

  fill(stretch: Stretch, left: number): boolean {
    const most = Math.min(this.#options.bounds.records, left);
    for (;;) {
      // Where not all is UTF-8, rows are looked at one by one, so that the error names the right one.
      const end = stretch.utf8 ? stretch.end : this.#inspectRow(stretch);
      const stop = this.#kernel.convert(stretch, end, most - this.count, this.#scanner, this.#out);
      this.count += this.#kernel.rows;
      if (stop === 'rows' || stop === 'page') return true;
      if (stop === 'room') this.#out.ensure(this.#out.bytes.length + 1);
      else if (stop === 'width') {
        if (this.#inspectRow(stretch) === stretch.at) return false;
      } else if (stretch.utf8 || this.#kernel.rows === 0) return false;
    }
  }

  take(): Page {
    const { bytes, release } = this.#out.take();
    const page = Page.ofBlock(JSON_LINES, bytes, this.count, { release });
    this.count = 0;
    return page;
  }

  /** Looks at the next row without reading it away: its text, its width. Returns where it ends: where it starts when it is not whole yet. */
  #inspectRow(stretch: Stretch): number {
    const scanner = this.#scanner;
    const { line, afterReturn } = scanner;
    const end = scanner.scan(stretch.bytes, stretch.at, 1);
    if (scanner.rowCount > 0) {
      checkText(stretch, scanner, 0, this.#options.name);
      if (this.#columns.admit(scanner.cellCount, scanner.rowLines[0] ?? 1, this.#options)) this.#kernel.setColumns(this.#columns.names);
    }
    Object.assign(scanner, { line, afterReturn });
    return end;
  }
}

/** Pages of the records lane. */
class RecordPages implements PageMaker {
  count = 0;
  readonly #columns: CsvColumns;
  readonly #scanner: CsvScanner;
  readonly #options: CsvPageOptions;
  readonly #nulls: readonly Uint8Array[];
  readonly #cells: CellReader;
  #records: JsonObject[] = [];
  #bytes = 0;
  #record: JsonObject = {};
  #templateWidth = 0;
  /** The stretch that was scanned last, the next of its rows, and its bytes as characters: the text of all cells that are ASCII. */
  #scanned: Stretch | undefined;
  #row = 0;
  #text = '';

  constructor(columns: CsvColumns, scanner: CsvScanner, options: CsvPageOptions) {
    this.#columns = columns;
    this.#scanner = scanner;
    this.#options = options;
    this.#nulls = options.shape.nullValues.map((text) => Buffer.from(text));
    this.#cells = new CellReader(options.shape.dialect.quote);
  }

  fill(stretch: Stretch, left: number): boolean {
    const scanner = this.#scanner;
    if (this.#scanned !== stretch) this.#scan(stretch);
    const most = Math.min(this.#options.bounds.records, left);
    for (; this.#row < scanner.rowCount; this.#row += 1) {
      if (this.count === most) return true;
      checkText(stretch, scanner, this.#row, this.#options.name);
      const width = (scanner.rowCells[this.#row + 1] ?? 0) - (scanner.rowCells[this.#row] ?? 0);
      this.#columns.admit(width, scanner.rowLines[this.#row] ?? 0, this.#options);
      if (!this.#addRecord(stretch, this.#row)) return true;
    }
    return this.count === most;
  }

  take(): Page {
    const page = Page.ofRecords(this.#records, { bytes: this.#bytes });
    this.#records = [];
    this.#bytes = 0;
    this.count = 0;
    return page;
  }

  #scan(stretch: Stretch): void {
    this.#scanned = stretch;
    stretch.at = this.#scanner.scan(stretch.bytes, stretch.at);
    this.#row = 0;
    this.#text = stretch.bytes.toString('latin1', 0, stretch.end);
  }

  #addRecord(stretch: Stretch, row: number): boolean {
    const { cells, rowCells } = this.#scanner;
    const first = rowCells[row] ?? 0;
    const last = rowCells[row + 1] ?? 0;
    const { names, labelSizes, plainNames } = this.#columns;
    // A copy of a whole record has its shape from the start; fields set one by one would change it each time.
    const record: JsonObject = last - first === names.length && plainNames ? { ...this.#template() } : {};
    let size = BRACES;
    for (let cell = first; cell < last; cell += 1) {
      const text = this.#cells.read(stretch.bytes, cells[cell * 2] as number, cells[cell * 2 + 1] as number);
      const isNull = this.#nulls.length > 0 && isOneOf(text, this.#nulls);
      const cellSize = isNull ? NULL_SIZE : jsonSize(text);
      const value = isNull ? null : this.#string(text, stretch, cellSize >= 0);
      size += (labelSizes[cell - first] as number) + (cellSize < 0 ? ~cellSize : cellSize);
      const name = names[cell - first] as string;
      if (plainNames) record[name] = value;
      else setField(record, name, value);
    }
    if (this.count > 0 && this.#bytes + size > this.#options.bounds.bytes) return false;
    this.#records.push(record);
    this.#bytes += size;
    this.count += 1;
    return true;
  }

  /** A record with every column. */
  #template(): JsonObject {
    const { names } = this.#columns;
    if (this.#templateWidth !== names.length) {
      this.#record = Object.fromEntries(names.map((name) => [name, '']));
      this.#templateWidth = names.length;
    }
    return this.#record;
  }

  #string({ bytes, start, end }: CellText, stretch: Stretch, ascii: boolean): string {
    if (!ascii) return bytes.toString('utf8', start, end);
    return bytes === stretch.bytes ? this.#text.slice(start, end) : bytes.toString('latin1', start, end);
  }
}

const BRACES = 3;
const NULL_SIZE = 4;
