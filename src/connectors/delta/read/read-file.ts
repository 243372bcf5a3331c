/** The records of one data file: its columns, the values of its partition, less what is deleted. */
import type { JsonObject } from '../../../lib/text/json.ts';
import { readDataFile, type ReadColumn } from '../../_lake/read-data-file.ts';
import type { TableFiles } from '../../_lake/table-files.ts';
import type { AddedFile } from '../log/actions.ts';
import type { Snapshot } from '../log/snapshot.ts';
import type { DeltaField } from '../schema/delta-types.ts';
import { readPartitionValue } from '../schema/partition-values.ts';
import { lakeField, mappingMode, physicalName } from '../schema/physical-columns.ts';
import { deletedRows } from './deletion-vectors.ts';

interface FileReading {
  readonly files: TableFiles;
  readonly snapshot: Snapshot;
  /** The columns that are read, in their order in records. */
  readonly columns: readonly DeltaField[];
}

export function readFile(
  file: AddedFile,
  { files, snapshot, columns }: FileReading,
): AsyncGenerator<JsonObject[]> {
  const mode = mappingMode(snapshot.metadata);
  const partitions = new Set(snapshot.metadata.partitionColumns);
  return readDataFile({
    open: (options) => files.readParquet(file.path, options),
    columns: columns.map((column): ReadColumn => {
      const field = lakeField(column, mode);
      if (!partitions.has(column.name)) return { field };
      const text = file.partitionValues[physicalName(column, mode)];
      const constant = readPartitionValue(text, column, `${files.address}${file.path}`);
      return { field: { ...field, find: () => undefined }, constant };
    }),
    deleted: () => deletedRows(files, file),
  });
}
