import { ByteWriter } from '../../../kit/byte-writer.ts';
import { JSON_LINES } from '../../../kit/json-lines.ts';
import { Page } from '../../../kit/page.ts';
import { CellMarks } from '../../../kit/cell-marks.ts';
import type { CsvColumns } from './csv-columns.ts';
import { CsvLineKernel, type KernelStop } from '../../../fast/csv/csv-line-kernel.ts';
import { checkText, type CsvPageOptions, type PageMaker } from './csv-page-maker.ts';
import type { CsvScanner, Stretch } from './csv-rows.ts';

/**
 * Makes pages of the bytes lane and of the columns lane, whose cells are parts of the same lines.
 */
export class KernelPages implements PageMaker {
  count = 0;
  readonly #columns: CsvColumns;
  readonly #scanner: CsvScanner;
  readonly #options: CsvPageOptions;
  readonly #kernel: CsvLineKernel;
  readonly #out = new ByteWriter();
  readonly #spareMarks: CellMarks[] = [];
  #marks: CellMarks | undefined;
  /**
   * Names for the next pages: longer rows may add columns, which pages already given do not have.
   */
  #names: readonly string[] = [];

  constructor(columns: CsvColumns, scanner: CsvScanner, options: CsvPageOptions) {
    const { dialect, flexible, nullValues } = options.shape;
    this.#columns = columns;
    this.#scanner = scanner;
    this.#options = options;
    this.#kernel = new CsvLineKernel({
      dialect,
      flexible,
      nullValues,
      pageBytes: options.bounds.bytes,
    });
    this.#marks = options.lane.form === 'columns' ? new CellMarks() : undefined;
    this.#nameColumns();
  }

  get isEmpty(): boolean {
    return this.count === 0;
  }

  fill(stretch: Stretch, left: number): boolean {
    const most = Math.min(this.#options.bounds.records, left);
    for (;;) {
      // Where not all is UTF-8, rows are checked one by one, so that the error names the right one.
      const end = stretch.utf8 ? stretch.end : this.#inspectRow(stretch);
      const stop = this.#convert(stretch, end, most - this.count);
      if (stop === 'page' || this.count === most) return true;
      if (stop === 'rows') continue;
      if (stop === 'width') {
        if (this.#inspectRow(stretch) === stretch.at) return false;
      } else if (stretch.utf8 || this.#kernel.rows === 0) return false;
    }
  }

  take(): Page {
    const page = this.#marks === undefined ? this.#takeLines() : this.#takeColumns(this.#marks);
    this.count = 0;
    return page;
  }

  close(): void {
    this.#kernel.close();
  }

  #takeLines(): Page {
    const { bytes, release } = this.#out.take();
    return Page.ofBlock(JSON_LINES, bytes, this.count, { release, schema: this.#columns.schema() });
  }

  #takeColumns(marks: CellMarks): Page {
    const bytes = this.#out.length;
    const { writer, release } = this.#out.split();
    const columns = marks.columns(this.#names, writer);
    this.#marks = this.#spareMarks.pop() ?? new CellMarks();
    this.#marks.count = 0;
    this.#marks.setWidth(this.#names.length);
    return Page.ofColumns(columns, {
      bytes,
      schema: this.#columns.schema(),
      release: () => {
        this.#spareMarks.push(marks);
        release();
      },
    });
  }

  #convert(stretch: Stretch, end: number, most: number): KernelStop {
    const marks = this.#marks;
    if (marks !== undefined && marks.count === marks.capacity) marks.grow();
    const rows = marks === undefined ? most : Math.min(most, marks.capacity - marks.count);
    const target = marks === undefined ? { out: this.#out } : { out: this.#out, marks };
    const stop = this.#kernel.convert(stretch, end, rows, this.#scanner, target);
    this.count += this.#kernel.rows;
    if (marks !== undefined) marks.count = this.count;
    return stop;
  }

  #nameColumns(): void {
    this.#names = [...this.#columns.names];
    this.#kernel.setColumns(this.#names);
    this.#marks?.setWidth(this.#names.length);
  }

  /**
   * Checks the text and the width of the next row without consuming it. Returns where it ends, or
   * where it starts when it is not complete yet.
   */
  #inspectRow(stretch: Stretch): number {
    const scanner = this.#scanner;
    const { line, afterReturn } = scanner;
    const end = scanner.scan(stretch.bytes, stretch.at, 1);
    if (scanner.rowCount > 0) {
      checkText(stretch, scanner, 0, this.#options);
      if (this.#columns.admit(scanner.cellCount, scanner.rowLines[0] ?? 1, this.#options))
        this.#nameColumns();
    }
    Object.assign(scanner, { line, afterReturn });
    return end;
  }
}
