/** The statements that add rows, each short enough for the server. */
import { quoteName } from '../../../lib/sql/sql-name.ts';
import type { EncodedRows } from '../../_sql/collected-rows.ts';
import { literal } from '../literal.ts';
import { readText, type TextRow } from './texts.ts';

/** The server takes a text of a million bytes, and lists of so many rows. */
const MOST_BYTES = 900_000;
const MOST_ROWS = 16_000;

/**
 * Several statements of one request take no bindings, so values stand in the text. They come as
 * texts, of which the SELECT makes values of the columns: a list of rows holds only literals.
 */
export function insertStatements(
  table: string,
  { columns, rows }: EncodedRows<TextRow>,
  batchSize: number,
): string[] {
  const names = columns.map(({ name }) => quoteName(name)).join(', ');
  const slots = columns.map((_, at) => `c${at + 1}`);
  const values = columns.map((column, at) => readText(column, slots[at] ?? '')).join(', ');
  const head = `INSERT INTO ${table} (${names}) SELECT ${values} FROM (VALUES `;
  const tail = `) AS v (${slots.join(', ')})`;
  const most = batchSize === 0 ? MOST_ROWS : Math.min(batchSize, MOST_ROWS);
  const statements: string[] = [];
  let lines: string[] = [];
  let bytes = 0;
  const end = (): void => {
    if (lines.length > 0) statements.push(head + lines.join(', ') + tail);
    [lines, bytes] = [[], 0];
  };
  for (const row of rows) {
    // A list whose values are all null has no type of its own.
    const cells = row.map((text) => (text === null ? 'NULL::VARCHAR' : literal(text)));
    const line = `(${cells.join(', ')})`;
    const size = Buffer.byteLength(line);
    if (lines.length >= most || bytes + size > MOST_BYTES) end();
    lines.push(line);
    bytes += size;
  }
  end();
  return statements;
}

/** A request of one statement, or a transaction of several. */
export function asOneRequest(statements: readonly string[]): { text: string; count: number } {
  const [only] = statements;
  if (only !== undefined && statements.length === 1) return { text: only, count: 1 };
  const all = ['BEGIN TRANSACTION', ...statements, 'COMMIT'];
  return { text: all.join(';\n'), count: all.length };
}
