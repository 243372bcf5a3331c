/** The records of one data file: its columns, the values of its partition, less what is deleted. */
import { setField, type JsonObject, type JsonValue } from '../../../lib/text/json.ts';
import type { SchemaNode } from '../../_files/parquet/parquet-values.ts';
import type { TableFiles } from '../files/table-files.ts';
import type { AddedFile } from '../log/actions.ts';
import type { Snapshot } from '../log/snapshot.ts';
import type { DeltaField } from '../schema/delta-types.ts';
import { readPartitionValue } from '../schema/partition-values.ts';
import { mappingMode, nodeOf, physicalName, type MappingMode } from '../schema/physical-columns.ts';
import { convertValues, type ConvertValue } from './convert-values.ts';
import { deletedRows } from './deletion-vectors.ts';

interface FileReading {
  readonly files: TableFiles;
  readonly snapshot: Snapshot;
  /** The columns that are read, in their order in records. */
  readonly columns: readonly DeltaField[];
}

/** Where the value of a column comes from. */
interface ColumnOrigin {
  readonly name: string;
  readonly from?: string;
  readonly convert?: ConvertValue | undefined;
  readonly constant: JsonValue;
}

export async function* readFile(
  file: AddedFile,
  { files, snapshot, columns }: FileReading,
): AsyncGenerator<JsonObject[]> {
  const mode = mappingMode(snapshot.metadata);
  const partitions = new Set(snapshot.metadata.partitionColumns);
  const inFile = columns.filter(({ name }) => !partitions.has(name));
  const reader = await files.readParquet(file.path, {
    columns: (nodes) => wantedOf(inFile, nodes, mode),
    omitNulls: false,
  });
  try {
    const deleted = await deletedRows(files, file);
    const origins = columns.map((field): ColumnOrigin => {
      if (partitions.has(field.name)) {
        const text = file.partitionValues[physicalName(field, mode)];
        const where = `${files.address}${file.path}`;
        return { name: field.name, constant: readPartitionValue(text, field, where) };
      }
      const node = nodeOf(field, reader.fields, mode);
      if (node === undefined) return { name: field.name, constant: null };
      const convert = convertValues(field.type, node, mode);
      return { name: field.name, from: node.element.name, convert, constant: null };
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
function wantedOf(
  fields: readonly DeltaField[],
  nodes: readonly SchemaNode[],
  mode: MappingMode,
): readonly string[] {
  const wanted = fields.flatMap((field) => nodeOf(field, nodes, mode)?.element.name ?? []);
  const [any] = nodes;
  return wanted.length > 0 || any === undefined ? wanted : [any.element.name];
}

function recordOf(row: JsonObject, origins: readonly ColumnOrigin[]): JsonObject {
  const record: JsonObject = {};
  for (const { name, from, convert, constant } of origins) {
    const value = from === undefined ? constant : (row[from] ?? null);
    setField(record, name, convert === undefined ? value : convert(value));
  }
  return record;
}
