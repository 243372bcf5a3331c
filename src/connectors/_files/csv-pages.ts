import { isUtf8 } from 'node:buffer';
import { JSON_LINES } from '../../kit/json-lines.ts';
import { Page, type Lane } from '../../kit/page.ts';
import { ConnectorError } from '../../lib/errors.ts';
import { setField, type JsonObject } from '../../lib/json.ts';
import { ByteWriter } from './byte-writer.ts';
import { CellReader, isOneOf, jsonSize, writeJsonString } from './csv-cells.ts';
import { csvRows, withoutBom, type CsvDialect, type RowBatch } from './csv-rows.ts';
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
  let left = options.limit ?? Infinity;
  if (left <= 0) return;
  let rows: RowReader | undefined;
  for await (const batch of csvRows(withoutBom(blocks), options.shape.dialect, options.name)) {
    for (let row = 0; row < batch.scanner.rowCount; row += 1) {
      checkText(batch, row, options.name);
      if (rows === undefined) {
        rows = new RowReader(columnsOf(batch, options), options);
        if (options.shape.hasHeaders) continue;
      }
      if (rows.count === options.bounds.records || !rows.add(batch, row)) {
        options.signal.throwIfAborted();
        yield rows.take();
        rows.add(batch, row);
      }
      left -= 1;
      if (left === 0) break;
    }
    if (left === 0) break;
  }
  options.signal.throwIfAborted();
  if (rows !== undefined && rows.count > 0) yield rows.take();
}

function checkText(batch: RowBatch, row: number, name: string): void {
  if (batch.utf8) return;
  const { rowStarts, rowLines } = batch.scanner;
  if (isUtf8(batch.bytes.subarray(rowStarts[row], rowStarts[row + 1]))) return;
  throw new ConnectorError('data', `line ${rowLines[row]} of ${name} is not UTF-8 text`, { hint: 'convert the file to UTF-8' });
}

/** The names of the columns, taken from the first row. */
function columnsOf(batch: RowBatch, { shape, name }: CsvPageOptions): Columns {
  const { rowCells, rowLines } = batch.scanner;
  const count = rowCells[1] ?? 0;
  const columns = new Columns(name);
  const reader = new CellReader(shape.dialect.quote);
  for (let cell = 0; cell < count; cell += 1) {
    columns.add(shape.hasHeaders ? reader.string(batch.bytes, batch.scanner, cell) : `column_${cell}`, rowLines[0] ?? 1);
  }
  return columns;
}

class Columns {
  readonly names: string[] = [];
  /** `"name":` of each column, with the comma before it for all but the first. */
  readonly labels: Uint8Array[] = [];
  readonly #known = new Set<string>();
  readonly #file: string;

  constructor(file: string) {
    this.#file = file;
  }

  add(name: string, line: number): void {
    if (this.#known.has(name)) {
      throw new ConnectorError('data', `line ${line} of ${this.#file}: there are two columns called ${JSON.stringify(name)}`, {
        hint: 'rename one of them, or set `has_headers: false`',
      });
    }
    this.#known.add(name);
    this.labels.push(Buffer.from(`${this.names.length === 0 ? '' : ','}${JSON.stringify(name)}:`));
    this.names.push(name);
  }

  /** A row is longer than any before: the columns beyond the header are called by their position. */
  extendTo(count: number, line: number): void {
    while (this.names.length < count) this.add(`column_${this.names.length}`, line);
  }
}

const OPEN = Buffer.from('{');
const CLOSE = Buffer.from('}\n');
const NULL = Buffer.from('null');

/** Turns rows into one page at a time, in either form; the size of a page is that of its JSON Lines in both. */
class RowReader {
  count = 0;
  readonly #columns: Columns;
  readonly #width: number;
  readonly #options: CsvPageOptions;
  readonly #nulls: readonly Uint8Array[];
  readonly #cells: CellReader;
  readonly #out: ByteWriter | undefined;
  #records: JsonObject[] = [];
  #bytes = 0;
  #text: { readonly of: Buffer; readonly is: string } | undefined;

  constructor(columns: Columns, options: CsvPageOptions) {
    this.#columns = columns;
    this.#width = columns.names.length;
    this.#options = options;
    this.#nulls = options.shape.nullValues.map((text) => Buffer.from(text));
    this.#cells = new CellReader(options.shape.dialect.quote);
    this.#out = options.lane.form === 'bytes' ? new ByteWriter() : undefined;
  }

  /** Takes the row, or says false when it does not fit the page any more. */
  add(batch: RowBatch, row: number): boolean {
    const { rowCells, rowLines } = batch.scanner;
    this.#checkWidth((rowCells[row + 1] ?? 0) - (rowCells[row] ?? 0), rowLines[row] ?? 0);
    const fits = this.#out === undefined ? this.#addRecord(batch, row) : this.#addLine(this.#out, batch, row);
    if (fits) this.count += 1;
    return fits;
  }

  take(): Page {
    const count = this.count;
    const page =
      this.#out === undefined ? Page.ofRecords(this.#records, { bytes: this.#bytes }) : Page.ofBlock(JSON_LINES, this.#out.take(), count);
    this.#records = [];
    this.#bytes = 0;
    this.count = 0;
    return page;
  }

  #checkWidth(width: number, line: number): void {
    if (width === this.#width) return;
    if (!this.#options.shape.flexible) {
      const sentence = `line ${line} of ${this.#options.name} has ${cellCount(width)}, the first row has ${this.#width}`;
      throw new ConnectorError('data', sentence, { hint: 'repair the file, or set `flexible: true`' });
    }
    this.#columns.extendTo(width, line);
  }

  #addLine(out: ByteWriter, batch: RowBatch, row: number): boolean {
    const { cells, rowCells } = batch.scanner;
    const mark = out.length;
    const first = rowCells[row] ?? 0;
    const last = rowCells[row + 1] ?? 0;
    out.append(OPEN);
    for (let cell = first; cell < last; cell += 1) {
      out.append(this.#columns.labels[cell - first] ?? OPEN);
      const text = this.#cells.read(batch.bytes, cells[cell * 2] ?? 0, cells[cell * 2 + 1] ?? 0);
      if (this.#nulls.length > 0 && isOneOf(text, this.#nulls)) out.append(NULL);
      else writeJsonString(out, text);
    }
    out.append(CLOSE);
    if (mark === 0 || out.length <= this.#options.bounds.bytes) return true;
    out.length = mark;
    return false;
  }

  #addRecord(batch: RowBatch, row: number): boolean {
    const { cells, rowCells } = batch.scanner;
    const first = rowCells[row] ?? 0;
    const last = rowCells[row + 1] ?? 0;
    const record: JsonObject = {};
    let size = OPEN.length + CLOSE.length;
    for (let cell = first; cell < last; cell += 1) {
      const name = this.#columns.names[cell - first] ?? '';
      const text = this.#cells.read(batch.bytes, cells[cell * 2] ?? 0, cells[cell * 2 + 1] ?? 0);
      const isNull = this.#nulls.length > 0 && isOneOf(text, this.#nulls);
      size += (this.#columns.labels[cell - first]?.length ?? 0) + (isNull ? NULL.length : jsonSize(text));
      setField(record, name, isNull ? null : this.#string(batch));
    }
    if (this.count > 0 && this.#bytes + size > this.#options.bounds.bytes) return false;
    this.#records.push(record);
    this.#bytes += size;
    return true;
  }

  /** The cell just read, as a string. ASCII bytes are decoded once for the whole batch. */
  #string(batch: RowBatch): string {
    const { bytes, start, end } = this.#cells.text;
    if (bytes !== batch.bytes) return Buffer.from(bytes.buffer, bytes.byteOffset + start, end - start).toString('utf8');
    if (!batch.ascii) return batch.bytes.toString('utf8', start, end);
    if (this.#text?.of !== batch.bytes) this.#text = { of: batch.bytes, is: batch.bytes.toString('latin1') };
    return this.#text.is.slice(start, end);
  }
}

function cellCount(count: number): string {
  return count === 1 ? '1 cell' : `${count} cells`;
}
