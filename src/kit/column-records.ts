/** Makes records from columns. */
import { parseData, type JsonValue } from '../lib/text/json.ts';
import { writeLines } from './column-lines.ts';
import type { Columns } from './columns.ts';

/** The text of this many records is made at once. */
const CHUNK = 4096;

/**
 * Parsing their lines is faster than making objects field by field, and keeps the order of fields
 * of every other reader.
 */
export function readRecords(columns: Columns): JsonValue[] {
  const { rows, cells } = columns;
  const records: JsonValue[] = [];
  const { length } = cells;
  for (let from = 0; from < rows.length; from += CHUNK) {
    const lines = writeLines(columns.kept(rows.subarray(from, from + CHUNK)));
    for (const line of Buffer.from(lines.buffer, lines.byteOffset, lines.length - 1)
      .toString('utf8')
      .split('\n')) {
      records.push(parseData(line));
    }
    // Removes the lines again.
    cells.length = length;
  }
  return records;
}

/** One record; `position` is an index into the selected rows. */
export function readRecord(columns: Columns, position: number): JsonValue {
  return readRecords(columns.kept(columns.rows.subarray(position, position + 1)))[0] ?? null;
}
