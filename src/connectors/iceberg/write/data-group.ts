/** The data files that are written with the same columns. */
import type { SinkContext } from '../../../kit/context.ts';
import type { JsonObject } from '../../../lib/text/json.ts';
import type { ColumnKind } from '../../_files/typed/column-kinds.ts';
import { DataFiles } from '../../_lake/data-files.ts';
import { DroppedFields } from '../../_lake/dropped-fields.ts';
import type { LakeField } from '../../_lake/lake-types.ts';
import type { LoadedTable } from '../catalog/catalog.ts';
import type { IcebergSinkConfig } from '../config.ts';
import type { PartitionSpec } from '../metadata/table-metadata.ts';
import { lakeField } from '../schema/file-columns.ts';
import type { IcebergField } from '../schema/iceberg-types.ts';
import type { Written } from './append.ts';
import { DataFile, type MadeFile } from './data-file.ts';
import { Partitions, type PartitionValues } from './partitions.ts';

/** A file has about so many bytes for each byte of its values. */
const FILE_SHARE = 0.4;
const MEGABYTE = 1024 * 1024;

interface GroupOptions {
  readonly kinds: ReadonlyMap<string, ColumnKind>;
  readonly context: SinkContext;
  readonly config: Pick<IcebergSinkConfig, 'parquet' | 'target_file_size_mb'>;
  /** For messages. */
  readonly table: string;
}

export class DataGroup {
  readonly fields: readonly IcebergField[];
  readonly lakeFields: readonly LakeField[];
  readonly kinds: ReadonlyMap<string, ColumnKind>;
  readonly #spec: PartitionSpec;
  readonly #partitions: Partitions;
  readonly #files: DataFiles<MadeFile, PartitionValues>;

  constructor({ metadata, storage }: LoadedTable, options: GroupOptions) {
    const { kinds, context, config, table } = options;
    const { schema, defaultSpec: spec, location, properties } = metadata;
    const { compression } = config.parquet;
    const folder = (properties['write.data.path'] ?? `${location}/data`).replace(/\/+$/, '');
    const dropped = new DroppedFields(schema.fields, { table, log: context.env.log });
    const partitions = new Partitions(spec, schema, table);
    this.fields = schema.fields;
    this.lakeFields = schema.fields.map((field) => lakeField(field, new Map()));
    this.kinds = kinds;
    this.#spec = spec;
    this.#partitions = partitions;
    this.#files = new DataFiles<MadeFile, PartitionValues>({
      fields: this.lakeFields,
      kinds,
      targetBytes: Math.ceil((config.target_file_size_mb * MEGABYTE) / FILE_SHARE),
      create: (partition = []) =>
        DataFile.create({
          storage,
          address: `${folder}/${partitions.folder(partition)}${context.env.ids.next()}.parquet`,
          fields: schema.fields,
          kinds,
          codec: compression === 'none' ? 'uncompressed' : compression,
          partition,
          onDropped: (field) => dropped.note(field),
        }),
      remove: ({ address }) => storage.remove(address),
      partitionOf: partitions.areThere ? (record) => partitions.of(record) : undefined,
    });
  }

  /** Takes all records or, when one does not fit, none. */
  add(records: readonly JsonObject[]): Promise<void> {
    return this.#files.add(records);
  }

  /** All records are in durable files. */
  async finish(): Promise<Written> {
    return {
      files: await this.#files.finish(),
      spec: this.#spec,
      partitions: this.#partitions,
    };
  }

  /** Never throws. */
  async discard(keeps: boolean): Promise<void> {
    if (!keeps) await this.#files.discard();
  }

  /** Fields with a value that no column holds, and how many records have one. */
  unknownIn(records: readonly JsonObject[]): ReadonlyMap<string, number> {
    const counts = new Map<string, number>();
    for (const record of records)
      for (const name of Object.keys(record))
        if (!this.kinds.has(name) && record[name] !== null && record[name] !== undefined)
          counts.set(name, (counts.get(name) ?? 0) + 1);
    return counts;
  }
}
