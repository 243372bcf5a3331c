/** One data file: its Parquet content, and what a manifest says of it. */
import { createParquetFile } from '../../_files/parquet/create-parquet.ts';
import type { ParquetCodec, ParquetFile } from '../../_files/parquet/parquet-file.ts';
import type { ColumnKind } from '../../_files/typed/column-kinds.ts';
import { ColumnBounds, type BoundColumn, type Comparable } from '../../_lake/column-bounds.ts';
import type { OpenDataFile } from '../../_lake/data-files.ts';
import type { JsonObject, JsonValue } from '../../../lib/text/json.ts';
import { fieldIds } from '../schema/file-columns.ts';
import { leavesOf, type IcebergField, type IcebergType } from '../schema/iceberg-types.ts';
import { bytesOfPlain, comparisonOf } from '../schema/single-value.ts';
import type { Storage } from '../storage.ts';
import type { PartitionValues } from './partitions.ts';

const ROW_GROUP_ROWS = 1_048_576;
/** Bounds of texts are cut to so many characters. */
const TEXT_CHARS = 16;
const NANOS_OF_MICRO = 1000n;

export interface DataFileOptions {
  readonly storage: Storage;
  readonly address: string;
  readonly fields: readonly IcebergField[];
  readonly kinds: ReadonlyMap<string, ColumnKind>;
  readonly codec: ParquetCodec;
  readonly partition: PartitionValues;
  readonly onDropped: (field: string) => void;
}

/** A data file that is durable, and what a manifest says of it. */
export interface MadeFile {
  readonly address: string;
  readonly partition: PartitionValues;
  readonly records: number;
  readonly bytes: number;
  readonly statistics: JsonObject;
}

interface Leaf extends BoundColumn {
  readonly field: IcebergField;
}

export class DataFile implements OpenDataFile<MadeFile> {
  readonly #options: DataFileOptions;
  readonly #output: ParquetFile;
  readonly #bounds: ColumnBounds<Leaf>;

  private constructor(options: DataFileOptions, output: ParquetFile) {
    this.#options = options;
    this.#output = output;
    const leaves = leavesOf(options.fields)
      // Of lists and maps other programs count the values inside of them.
      .filter(({ field }) => field.type.is !== 'list' && field.type.is !== 'map')
      .map(({ path, field }) => ({ path, field, comparison: comparisonOf(field.type) }));
    this.#bounds = new ColumnBounds(leaves);
  }

  static async create(options: DataFileOptions): Promise<DataFile> {
    const { storage, address, fields, kinds: columns, codec, onDropped } = options;
    const output = await createParquetFile({
      path: await storage.pathToWrite(address),
      columns,
      codec,
      rowGroupSize: ROW_GROUP_ROWS,
      fieldIds: fieldIds(fields),
      onDropped,
    });
    return new DataFile(options, output);
  }

  get bytes(): number {
    return this.#output.bytes;
  }

  async add(records: readonly JsonObject[]): Promise<void> {
    await this.#output.add(records);
    this.#bounds.add(records);
  }

  async finish(): Promise<MadeFile> {
    const { storage, address, partition } = this.#options;
    await this.#output.finish();
    const bytes = await storage.deliver(address);
    const { records } = this.#bounds;
    return { address, partition, records, bytes, statistics: this.#statistics() };
  }

  async discard(): Promise<void> {
    await this.#output.discard().catch(() => {});
    await this.#options.storage.remove(this.#options.address);
  }

  #statistics(): JsonObject {
    const columns = this.#bounds.columns();
    const { records } = this.#bounds;
    const bounds = (side: 'min' | 'max'): JsonValue =>
      columns.flatMap(({ column, [side]: value }) => {
        const bytes = value === undefined ? undefined : boundOf(value, column.field.type, side);
        return bytes === undefined
          ? []
          : [{ key: column.field.id, value: bytes.toString('base64') }];
      });
    return {
      // Nothing is said of these, but few programs take a file without them.
      column_sizes: [],
      nan_value_counts: [],
      value_counts: columns.map(({ column }) => ({ key: column.field.id, value: records })),
      null_value_counts: columns.map(({ column, nulls }) => ({
        key: column.field.id,
        value: nulls,
      })),
      lower_bounds: bounds('min'),
      upper_bounds: bounds('max'),
    };
  }
}

function boundOf(value: Comparable, type: IcebergType, side: 'min' | 'max'): Buffer | undefined {
  if (typeof value === 'string') {
    const text = side === 'min' ? Array.from(value).slice(0, TEXT_CHARS).join('') : above(value);
    return text === undefined ? undefined : Buffer.from(text);
  }
  const isTime = ['time', 'moment'].includes(comparisonOf(type)?.as ?? '');
  return bytesOfPlain(isTime ? (value as bigint) / NANOS_OF_MICRO : value, type);
}

/** A short text that is not below a long one: its last character is the next one. */
function above(text: string): string | undefined {
  const characters = Array.from(text);
  if (characters.length <= TEXT_CHARS) return text;
  for (let at = TEXT_CHARS - 1; at >= 0; at -= 1) {
    const code = (characters[at]?.codePointAt(0) ?? 0) + 1;
    const isSurrogate = code >= 0xd800 && code <= 0xdfff;
    if (code > 0x10ffff) continue;
    return characters.slice(0, at).join('') + String.fromCodePoint(isSurrogate ? 0xe000 : code);
  }
  return undefined;
}
