import { csvLines } from '../../../fast/fast-paths.ts';
import type { Page } from '../../../kit/page.ts';
import { CellReader } from './csv-cells.ts';
import { CsvColumns } from './csv-columns.ts';
import { KernelPages } from './csv-kernel-pages.ts';
import { hasCsvLineKernel } from '../../../fast/csv/csv-line-kernel.ts';
import { checkText, type CsvPageOptions } from './csv-page-maker.ts';
import { RecordPages } from './csv-record-pages.ts';
import {
  CsvScanner,
  csvStretches,
  withoutBom,
  type Stretch,
  type UnclosedRow,
} from './csv-rows.ts';

/**
 * Reads delimited text into pages: straight to JSON Lines in the bytes lane, to cells in the
 * columns lane, to objects in the records lane.
 */
export async function* csvPages(
  blocks: AsyncIterable<Uint8Array>,
  options: CsvPageOptions,
): AsyncGenerator<Page> {
  const { shape, signal } = options;
  let left = options.limit ?? Infinity;
  if (left <= 0) return;
  const scanner = new CsvScanner(shape.dialect);
  let maker: RecordPages | KernelPages | undefined;
  let mark = 0;
  const unmarked = withoutBom(blocks, (length) => (mark = length));
  const onUnclosed = ({ stretch, lineEnd, error }: UnclosedRow): void => {
    if (options.rejects === undefined || !(maker instanceof RecordPages)) throw error;
    const { at: from } = stretch;
    maker.reject(error.message, { stretch, from, to: lineEnd, line: scanner.line - 1 });
  };
  try {
    for await (const stretch of csvStretches(unmarked, scanner, options.name, onUnclosed)) {
      if (maker === undefined) {
        const columns = columnsOf(stretch, scanner, options);
        if (columns === undefined) continue;
        maker = makerOf(columns, scanner, { ...options, rejects: after(mark, options) });
      }
      while (left > 0 && maker.fill(stretch, left)) {
        signal.throwIfAborted();
        left -= maker.count;
        yield maker.take();
      }
      if (left <= maker.count) break;
    }
    signal.throwIfAborted();
    if (maker?.isEmpty === false) yield maker.take();
  } finally {
    maker?.close();
  }
}

function makerOf(
  columns: CsvColumns,
  scanner: CsvScanner,
  options: CsvPageOptions,
): RecordPages | KernelPages {
  const { lane, rejects } = options;
  const isFast = lane.form !== 'records' && rejects === undefined;
  if (isFast && csvLines.isOn() && hasCsvLineKernel())
    return new KernelPages(columns, scanner, options);
  return new RecordPages(columns, scanner, options);
}

/** Bytes are counted from the start of the file, where there may be a byte order mark. */
function after(mark: number, { rejects }: CsvPageOptions): CsvPageOptions['rejects'] {
  return rejects?.byte === undefined ? rejects : { byte: rejects.byte + mark };
}

/** The names of the columns, taken from the first row. A header row is consumed. */
function columnsOf(
  stretch: Stretch,
  scanner: CsvScanner,
  options: CsvPageOptions,
): CsvColumns | undefined {
  const { hasHeaders, dialect } = options.shape;
  const { line, afterReturn } = scanner;
  const next = scanner.scan(stretch.bytes, stretch.at, 1);
  if (scanner.rowCount === 0) {
    stretch.at = next;
    return undefined;
  }
  checkText(stretch, scanner, 0, options);
  const columns = new CsvColumns(options.name);
  const reader = new CellReader(dialect.quote);
  for (let cell = 0; cell < scanner.cellCount; cell += 1) {
    columns.add(
      hasHeaders ? reader.string(stretch.bytes, scanner, cell) : `column_${cell}`,
      scanner.rowLines[0] ?? 1,
    );
  }
  if (hasHeaders) stretch.at = next;
  else Object.assign(scanner, { line, afterReturn });
  return columns;
}
