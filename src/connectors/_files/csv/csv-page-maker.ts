/** Makes pages from rows of delimited text, in any form. */
import { isUtf8 } from 'node:buffer';
import type { CsvDialect } from '../../../kit/csv-dialect.ts';
import type { Lane, Page } from '../../../kit/page.ts';
import { ConnectorError } from '../../../lib/errors.ts';
import type { CsvScanner, Stretch } from './csv-rows.ts';
import type { PageBounds } from '../../../kit/page-bounds.ts';

export interface CsvShape {
  readonly dialect: CsvDialect;
  readonly hasHeaders: boolean;
  /** Whether rows may have more or fewer cells than the header. */
  readonly flexible: boolean;
  /** Cell texts that mean null. */
  readonly nullValues: readonly string[];
}

export interface CsvPageOptions {
  readonly shape: CsvShape;
  readonly lane: Lane;
  readonly bounds: PageBounds;
  readonly limit?: number | undefined;
  /** Checked before every page. */
  readonly signal: AbortSignal;
  /** Name of the input in errors. */
  readonly name: string;
  /** In which the text is stored; absent for UTF-8. */
  readonly encoding?: string | undefined;
  /**
   * Rows that cannot be read are put to the page as rejected ones, in the records lane only. `byte`
   * says where the first block begins in the file, where that is known.
   */
  readonly rejects?: { readonly byte: number | undefined } | undefined;
}

/**
 * Turns rows into one page at a time. The size of a page is measured as JSON Lines in every form.
 */
export interface PageMaker {
  /** Records in the current page. */
  readonly count: number;
  /** Whether there is anything in it. */
  readonly isEmpty: boolean;
  /**
   * Reads rows until the page is full (true) or the stretch holds no more complete rows (false).
   * Reads at most `left` records per page.
   */
  fill(stretch: Stretch, left: number): boolean;
  take(): Page;
  /** Releases its memory; pages that were made stay valid. */
  close(): void;
}

/** Throws when the row is not UTF-8 text: what is no text in another encoding has become no UTF-8. */
export function checkText(
  stretch: Stretch,
  scanner: CsvScanner,
  row: number,
  { name, encoding }: Pick<CsvPageOptions, 'name' | 'encoding'>,
): void {
  if (stretch.utf8) return;
  const { rowStarts, rowLines } = scanner;
  if (isUtf8(stretch.bytes.subarray(rowStarts[row], rowStarts[row + 1]))) return;
  const hint =
    encoding === undefined
      ? 'convert the file to UTF-8, or name its `encoding`, such as `windows-1252`'
      : 'name the `encoding` in which the file was written';
  const message = `line ${rowLines[row]} of ${name} is not ${encoding ?? 'UTF-8'} text`;
  throw new ConnectorError('data', message, { hint });
}
