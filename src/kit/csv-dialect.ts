/**
 * The rules of delimited text (RFC 4180 and what files in the wild need), for whoever reads it:
 *
 * - A row ends with LF, CR or CRLF; an empty line is no row, and the last row needs no line end.
 * - Cells are separated by the delimiter. A cell that starts with the quote runs to the closing
 *   quote, whatever stands between; a doubled quote is one quote. What follows the closing quote
 *   belongs to the cell as it stands. A quote elsewhere is an ordinary character.
 * - A byte order mark before the first row is left out.
 *
 * `csv-grammar.test.ts` holds every reader to them.
 */
export interface CsvDialect {
  /** One ASCII byte each. */
  readonly delimiter: number;
  readonly quote: number;
}

export const LINE_FEED = 0x0a;
export const CARRIAGE_RETURN = 0x0d;
export const BYTE_ORDER_MARK: readonly number[] = [0xef, 0xbb, 0xbf];
