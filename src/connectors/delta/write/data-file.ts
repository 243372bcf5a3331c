/** One data file: its Parquet content, and what the log says of it. */
import type { SinkContext } from '../../../kit/context.ts';
import type { JsonObject } from '../../../lib/text/json.ts';
import { createParquetFile } from '../../_files/parquet/create-parquet.ts';
import type { ParquetCodec, ParquetFile } from '../../_files/parquet/parquet-file.ts';
import type { ColumnKind } from '../../_files/typed/column-kinds.ts';
import type { OpenDataFile } from '../../_lake/data-files.ts';
import type { TableFiles } from '../../_lake/table-files.ts';
import type { DeltaField } from '../schema/delta-types.ts';
import { FileStatistics } from './statistics.ts';

const ROW_GROUP_ROWS = 1_048_576;

export interface DataFileOptions {
  readonly files: TableFiles;
  readonly context: SinkContext;
  /** Relative to the table. */
  readonly path: string;
  readonly fields: readonly DeltaField[];
  readonly kinds: ReadonlyMap<string, ColumnKind>;
  readonly codec: ParquetCodec;
  readonly partitionValues: Readonly<Record<string, string | null>>;
  readonly onDropped: (field: string) => void;
}

/** As the log has it; its path is written as a part of an address. */
export type AddAction = JsonObject & { readonly path: string };

export class DataFile implements OpenDataFile<AddAction> {
  readonly #options: DataFileOptions;
  readonly #output: ParquetFile;
  readonly #statistics: FileStatistics;

  private constructor(options: DataFileOptions, output: ParquetFile) {
    this.#options = options;
    this.#output = output;
    this.#statistics = new FileStatistics(options.fields);
  }

  static async create(options: DataFileOptions): Promise<DataFile> {
    const { files, kinds: columns, codec, onDropped } = options;
    const path = await files.pathToWrite(options.path);
    const how = { path, columns, codec, rowGroupSize: ROW_GROUP_ROWS, onDropped };
    return new DataFile(options, await createParquetFile(how));
  }

  get bytes(): number {
    return this.#output.bytes;
  }

  /** Adds all records or, when one does not fit, none. */
  async add(records: readonly JsonObject[]): Promise<void> {
    await this.#output.add(records);
    this.#statistics.add(records);
  }

  /** The file is durable: gives the action that adds it to the table. */
  async finish(): Promise<AddAction> {
    const { files, path, partitionValues, context } = this.#options;
    await this.#output.finish();
    const size = await files.deliver(path);
    return {
      path: path.split('/').map(encodeURIComponent).join('/'),
      partitionValues: { ...partitionValues },
      size,
      modificationTime: context.env.clock.now().getTime(),
      dataChange: true,
      stats: this.#statistics.text(),
    };
  }

  /** Never throws. */
  async discard(): Promise<void> {
    await this.#output.discard().catch(() => {});
    await this.#options.files.remove(this.#options.path);
  }
}
