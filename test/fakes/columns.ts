import { ByteWriter } from '../../src/kit/byte-writer.ts';
import { ColumnBuilder } from '../../src/kit/cells.ts';
import { Columns } from '../../src/kit/columns.ts';
import type { JsonValue } from '../../src/lib/text/json.ts';

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
