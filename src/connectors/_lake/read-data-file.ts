/** The records of one data file of a table: its columns, constants, less the rows that are deleted. */
import { setField, type JsonObject, type JsonValue } from '../../lib/text/json.ts';
import type { ParquetReader } from '../_files/parquet/parquet-reader.ts';
import type { SchemaNode } from '../_files/parquet/parquet-values.ts';
import { convertValues, type ConvertValue } from './convert-values.ts';
import type { LakeField } from './lake-types.ts';
import type { OpenParquet } from './table-files.ts';

export interface ReadColumn {
  readonly field: LakeField;
  /** Its value in a file that does not have the column; null when absent. */
  readonly constant?: JsonValue;
}

export interface DataFileReading {
  readonly open: (options: OpenParquet) => Promise<ParquetReader>;
  /** In their order in records. */
  readonly columns: readonly ReadColumn[];
  /** Rows that are left out, by their number in the file; asked for when the file is open. */
  readonly deleted?: () => Promise<ReadonlySet<number> | undefined>;
}

/** Where the value of a column comes from. */
interface ColumnOrigin {
  readonly name: string;
  readonly from: string | undefined;
  readonly convert: ConvertValue | undefined;
  readonly constant: JsonValue;
}

export async function* readDataFile(reading: DataFileReading): AsyncGenerator<JsonObject[]> {
  const { columns } = reading;
  const reader = await reading.open({
    columns: (nodes) => wantedOf(columns, nodes),
    omitNulls: false,
  });
  try {
    const deleted = await reading.deleted?.();
    const origins = columns.map(({ field, constant = null }): ColumnOrigin => {
      const node = field.find(reader.fields);
      const convert = node === undefined ? undefined : convertValues(field.type, node);
      return { name: field.name, from: node?.element.name, convert, constant };
    });
    let row = 0;
    for (let group = 0; group < reader.rowGroups; group += 1)
      for await (const rows of reader.rowGroup(group)) {
        const first = row;
        row += rows.length;
        const kept =
          deleted === undefined ? rows : rows.filter((_, index) => !deleted.has(first + index));
        yield kept.map((one) => recordOf(one, origins));
      }
  } finally {
    await reader.close();
  }
}

/** The library reads no rows where no column is asked for: then any one is. */
function wantedOf(columns: readonly ReadColumn[], nodes: readonly SchemaNode[]): string[] {
  const wanted = new Set(columns.flatMap(({ field }) => field.find(nodes)?.element.name ?? []));
  const [any] = nodes;
  if (wanted.size === 0 && any !== undefined) wanted.add(any.element.name);
  return [...wanted];
}

function recordOf(row: JsonObject, origins: readonly ColumnOrigin[]): JsonObject {
  const record: JsonObject = {};
  for (const { name, from, convert, constant } of origins) {
    const value = from === undefined ? constant : (row[from] ?? null);
    setField(record, name, convert === undefined ? value : convert(value));
  }
  return record;
}
