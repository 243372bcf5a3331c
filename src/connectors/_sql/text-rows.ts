import type { JsonValue } from '../../lib/text/json.ts';
import type { EncodedRows } from './collected-rows.ts';
import type { RowSet } from './driver.ts';
import { withRefusedRow } from './refused-row.ts';

export type TextRow = readonly (string | null)[];

/** The rows of a set as texts, in the order of its columns, each of which has an encoder. */
export function textRows(
  { columns, rows }: RowSet,
  encoders: readonly ((value: JsonValue) => string | null)[],
): EncodedRows<TextRow> {
  let bytes = 0;
  const texts = rows.map((row, index) => {
    try {
      return encoders.map((encode, at) => {
        const text = encode(row[at] ?? null);
        bytes += (text?.length ?? 0) + 1;
        return text;
      });
    } catch (error) {
      throw withRefusedRow(error, index);
    }
  });
  return { columns, rows: texts, bytes };
}
