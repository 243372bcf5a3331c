import { fits, isFull } from '../../../kit/page-bounds.ts';
import { Page } from '../../../kit/page.ts';
import { setField, type JsonObject } from '../../../lib/text/json.ts';
import { CellReader, isOneOf, jsonSize, type CellText } from './csv-cells.ts';
import type { CsvColumns } from './csv-columns.ts';
import { checkText, type CsvPageOptions, type PageMaker } from './csv-page-maker.ts';
import { RejectedRows, rowAt, type UnreadRow } from './csv-rejected-rows.ts';
import type { CsvScanner, Stretch } from './csv-rows.ts';

/** Makes pages of the records lane. */
export class RecordPages implements PageMaker {
  count = 0;
  readonly #columns: CsvColumns;
  readonly #scanner: CsvScanner;
  readonly #options: CsvPageOptions;
  readonly #nulls: readonly Uint8Array[];
  readonly #cells: CellReader;
  readonly #rejected: RejectedRows | undefined;
  #records: JsonObject[] = [];
  #bytes = 0;
  #record: JsonObject = {};
  #templateWidth = 0;
  /**
   * The stretch scanned last, the index of its next row, and its bytes as Latin-1 text, which is
   * correct for cells that are ASCII.
   */
  #scanned: Stretch | undefined;
  #row = 0;
  #text = '';

  constructor(columns: CsvColumns, scanner: CsvScanner, options: CsvPageOptions) {
    this.#columns = columns;
    this.#scanner = scanner;
    this.#options = options;
    this.#nulls = options.shape.nullValues.map((text) => Buffer.from(text));
    this.#cells = new CellReader(options.shape.dialect.quote);
    const { rejects } = options;
    this.#rejected = rejects === undefined ? undefined : new RejectedRows(options, rejects.byte);
  }

  get isEmpty(): boolean {
    return this.#size === 0;
  }

  /** Records in the page, and rows that were rejected beside them. */
  get #size(): number {
    return this.count + (this.#rejected?.count ?? 0);
  }

  fill(stretch: Stretch, left: number): boolean {
    const scanner = this.#scanner;
    if (this.#scanned !== stretch) this.#scan(stretch);
    for (; this.#row < scanner.rowCount; this.#row += 1) {
      if (this.#isFull(left)) return true;
      if (this.#rejected === undefined) this.#check(stretch, this.#row);
      else if (!this.#accepts(stretch, this.#row, this.#rejected)) continue;
      if (!this.#addRecord(stretch, this.#row)) return true;
      this.#rejected?.note(rowAt(stretch, scanner, this.#row));
    }
    return this.#isFull(left);
  }

  #isFull(left: number): boolean {
    const { bounds } = this.#options;
    if (this.count === left || this.#size >= bounds.records) return true;
    // A record that does not fit ends a page, whenever it comes; rejected rows go in without a look.
    return this.#rejected !== undefined && isFull(bounds, this.#size, this.#bytes);
  }

  /** Puts a piece of text to the rejected rows of the page, however full it is. */
  reject(message: string, row: UnreadRow): void {
    this.#rejected?.add(message, row, this.#size);
  }

  take(): Page {
    const rejected = this.#rejected?.take() ?? {};
    const schema = this.#columns.schema();
    const page = Page.ofRecords(this.#records, { bytes: this.#bytes, schema, ...rejected });
    this.#records = [];
    this.#bytes = 0;
    this.count = 0;
    return page;
  }

  close(): void {}

  #scan(stretch: Stretch): void {
    this.#scanned = stretch;
    stretch.at = this.#scanner.scan(stretch.bytes, stretch.at);
    this.#row = 0;
    this.#text = stretch.bytes.toString('latin1', 0, stretch.end);
  }

  #check(stretch: Stretch, row: number): void {
    const scanner = this.#scanner;
    checkText(stretch, scanner, row, this.#options);
    const width = (scanner.rowCells[row + 1] ?? 0) - (scanner.rowCells[row] ?? 0);
    this.#columns.admit(width, scanner.rowLines[row] ?? 0, this.#options);
  }

  /** A rejected row counts with the size of its text. */
  #accepts(stretch: Stretch, row: number, rejected: RejectedRows): boolean {
    const text = rowAt(stretch, this.#scanner, row);
    const isRead = rejected.accepts(() => this.#check(stretch, row), text, this.#size);
    if (!isRead) this.#bytes += text.to - text.from;
    return isRead;
  }

  #addRecord(stretch: Stretch, row: number): boolean {
    const { cells, rowCells } = this.#scanner;
    const first = rowCells[row] ?? 0;
    const last = rowCells[row + 1] ?? 0;
    const { names, labelSizes, plainNames } = this.#columns;
    // Copying a complete record keeps its hidden class; setting the fields one by one would change
    // it each time.
    const record: JsonObject =
      last - first === names.length && plainNames ? { ...this.#template() } : {};
    let size = BRACES;
    for (let cell = first; cell < last; cell += 1) {
      const text = this.#cells.read(
        stretch.bytes,
        cells[cell * 2] as number,
        cells[cell * 2 + 1] as number,
      );
      const isNull = this.#nulls.length > 0 && isOneOf(text, this.#nulls);
      const cellSize = isNull ? NULL_SIZE : jsonSize(text);
      const value = isNull ? null : this.#string(text, stretch, cellSize >= 0);
      size += (labelSizes[cell - first] as number) + (cellSize < 0 ? ~cellSize : cellSize);
      const name = names[cell - first] as string;
      if (plainNames) record[name] = value;
      else setField(record, name, value);
    }
    if (!fits(this.#options.bounds, this.#size, this.#bytes, size)) return false;
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
    return bytes === stretch.bytes
      ? this.#text.slice(start, end)
      : bytes.toString('latin1', start, end);
  }
}

const BRACES = 3;
const NULL_SIZE = 4;
