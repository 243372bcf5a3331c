/**
 * The rules of delimited text (RFC 4180, and what real files need besides):
 *
 * - A row ends with LF, CR or CRLF. An empty line is not a row. The last row needs no line end.
 * - Cells are separated by the delimiter. A cell that starts with the quote runs to the closing
 *   quote, whatever is between; a doubled quote is one quote. Text after the closing quote still
 *   belongs to the cell, as it is written. A quote elsewhere is an ordinary character.
 * - A byte order mark before the first row is left out.
 *
 * `connectors/_files/csv/csv-grammar.test.ts` tests every reader against them.
 */
export interface CsvDialect {
  /** One ASCII byte each. */
  readonly delimiter: number;
  readonly quote: number;
}

export const LINE_FEED = 0x0a;
export const CARRIAGE_RETURN = 0x0d;
export const BYTE_ORDER_MARK: readonly number[] = [0xef, 0xbb, 0xbf];
