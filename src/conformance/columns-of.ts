import { ByteWriter } from '../kit/byte-writer.ts';
import { ColumnBuilder } from '../kit/cells.ts';
import { Columns } from '../kit/columns.ts';
import type { JsonValue } from '../lib/text/json.ts';

/** A page of columns from rows of values; a row has no cell where its value is undefined. */
export function columnsOf(
  names: readonly string[],
  rows: readonly (readonly (JsonValue | undefined)[])[],
): Columns {
  const empty = new Columns({
    names: [],
    columns: [],
    height: rows.length,
    cells: new ByteWriter(),
  });
  return names.reduce((columns, name, index) => {
    const builder = new ColumnBuilder(columns);
    for (const [row, values] of rows.entries()) builder.set(row, values[index]);
    return columns.with(name, builder);
  }, empty);
}
