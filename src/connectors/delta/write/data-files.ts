/** The data files of a table of Delta: how they are named, and what tells their partitions apart. */
import type { SinkContext } from '../../../kit/context.ts';
import { exactField } from '../../../lib/text/json-literal.ts';
import type { JsonObject } from '../../../lib/text/json.ts';
import type { ParquetCodec } from '../../_files/parquet/parquet-file.ts';
import type { ColumnKind } from '../../_files/typed/column-kinds.ts';
import { DataFiles, type Placed } from '../../_lake/data-files.ts';
import { DroppedFields } from '../../_lake/dropped-fields.ts';
import { partitionFolder } from '../../_lake/partition-folder.ts';
import type { TableFiles } from '../../_lake/table-files.ts';
import type { DeltaField } from '../schema/delta-types.ts';
import { partitionText } from '../schema/partition-values.ts';
import { lakeField } from '../schema/physical-columns.ts';
import { DataFile, type AddAction } from './data-file.ts';

/** The columns that files are written with. */
export interface TableShape {
  readonly fields: readonly DeltaField[];
  readonly kinds: ReadonlyMap<string, ColumnKind>;
  readonly partitionBy: readonly string[];
}

export interface DataFilesOptions {
  readonly files: TableFiles;
  readonly context: SinkContext;
  readonly shape: TableShape;
  readonly codec: ParquetCodec;
  readonly targetBytes: number;
}

export type PartitionTexts = Readonly<Record<string, string | null>>;
export type DeltaDataFiles = DataFiles<AddAction, PartitionTexts>;

export function dataFiles(options: DataFilesOptions): DeltaDataFiles {
  const { files, context, codec, targetBytes } = options;
  const { fields, kinds, partitionBy } = options.shape;
  const dataFields = fields.filter(({ name }) => !partitionBy.includes(name));
  const dataKinds = new Map([...kinds].filter(([name]) => !partitionBy.includes(name)));
  const dropped = new DroppedFields(fields, { table: files.address, log: context.env.log });
  return new DataFiles<AddAction, PartitionTexts>({
    fields: fields.map((field) => lakeField(field, 'none')),
    kinds,
    targetBytes,
    create: (values = {}) =>
      DataFile.create({
        files,
        context,
        codec,
        path: `${partitionFolder(Object.entries(values))}part-${context.env.ids.next()}.parquet`,
        fields: dataFields,
        kinds: dataKinds,
        partitionValues: values,
        onDropped: (field) => dropped.note(field),
      }),
    remove: ({ path }) => files.remove(decodeURIComponent(path)),
    partitionOf: partitionBy.length === 0 ? undefined : partitioner(fields, partitionBy),
  });
}

function partitioner(fields: readonly DeltaField[], names: readonly string[]) {
  const by = names.flatMap((name) => fields.find((one) => one.name === name) ?? []);
  return (record: JsonObject): Placed<PartitionTexts> => {
    const values = Object.fromEntries(
      by.map((field) => [field.name, partitionText(exactField(record, field.name) ?? null, field)]),
    );
    return { key: JSON.stringify(Object.values(values)), values };
  };
}
