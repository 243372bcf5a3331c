import { csvLines } from '../../../fast/fast-paths.ts';
import type { Page } from '../../../kit/page.ts';
import { CellReader } from './csv-cells.ts';
import { CsvColumns } from './csv-columns.ts';
import { KernelPages } from './csv-kernel-pages.ts';
import { hasCsvLineKernel } from '../../../fast/csv/csv-line-kernel.ts';
import { checkText, type CsvPageOptions, type PageMaker } from './csv-page-maker.ts';
import { RecordPages } from './csv-record-pages.ts';
import { CsvScanner, csvStretches, withoutBom, type Stretch } from './csv-rows.ts';

/**
 * Reads delimited text into pages: straight to JSON Lines in the bytes lane, to cells in the
 * columns lane, to objects in the records lane.
 */
export async function* csvPages(
  blocks: AsyncIterable<Uint8Array>,
  options: CsvPageOptions,
): AsyncGenerator<Page> {
  const { shape, lane, name, signal } = options;
  let left = options.limit ?? Infinity;
  if (left <= 0) return;
  const scanner = new CsvScanner(shape.dialect);
  let maker: PageMaker | undefined;
  try {
    for await (const stretch of csvStretches(withoutBom(blocks), scanner, name)) {
      if (maker === undefined) {
        const columns = columnsOf(stretch, scanner, options);
        if (columns === undefined) continue;
        const isFast = lane.form !== 'records' && csvLines.isOn() && hasCsvLineKernel();
        maker = new (isFast ? KernelPages : RecordPages)(columns, scanner, options);
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
  } finally {
    maker?.close();
  }
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
  checkText(stretch, scanner, 0, options.name);
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
