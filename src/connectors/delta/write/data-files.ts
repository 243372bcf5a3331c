/** The data files of what is not committed yet: one stream of them, or some for each partition. */
import { createHash } from 'node:crypto';
import type { SinkContext } from '../../../kit/context.ts';
import { columnSize } from '../../../kit/rough-size.ts';
import { exactField } from '../../../lib/text/json-literal.ts';
import type { JsonObject } from '../../../lib/text/json.ts';
import type { ParquetCodec } from '../../_files/parquet/parquet-file.ts';
import { fit } from '../../_files/typed/fit-value.ts';
import type { ColumnKind } from '../../_files/typed/column-kinds.ts';
import type { TableFiles } from '../files/table-files.ts';
import type { DeltaField } from '../schema/delta-types.ts';
import { partitionText } from '../schema/partition-values.ts';
import { DataFile, type AddAction } from './data-file.ts';
import { requireValues } from './required-values.ts';

/** Records of partitions that wait in memory for the file of their partition. */
const WAITING_BYTES = 64 * 1024 * 1024;
const LONGEST_FOLDER = 200;
const NULL_FOLDER = '__HIVE_DEFAULT_PARTITION__';

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

interface Partition {
  readonly values: Readonly<Record<string, string | null>>;
  readonly folder: string;
  records: JsonObject[];
  bytes: number;
}

export class DataFiles {
  readonly #options: DataFilesOptions;
  readonly #partitionFields: readonly DeltaField[];
  readonly #dataFields: readonly DeltaField[];
  readonly #dataKinds: ReadonlyMap<string, ColumnKind>;
  readonly #partitions = new Map<string, Partition>();
  readonly #dropped = new Set<string>();
  #waitingBytes = 0;
  #open: DataFile | undefined;
  /** Actions of files that are durable and not committed. */
  #made: AddAction[] = [];

  constructor(options: DataFilesOptions) {
    const { fields, kinds, partitionBy } = options.shape;
    this.#options = options;
    this.#partitionFields = partitionBy.flatMap(
      (name) => fields.find((one) => one.name === name) ?? [],
    );
    this.#dataFields = fields.filter(({ name }) => !partitionBy.includes(name));
    this.#dataKinds = new Map([...kinds].filter(([name]) => !partitionBy.includes(name)));
  }

  /** Takes all records or, when one does not fit, none. */
  async add(records: readonly JsonObject[]): Promise<void> {
    const { fields } = this.#options.shape;
    requireValues(records, fields);
    if (this.#partitionFields.length === 0) {
      await this.#stream(records);
      return;
    }
    this.#requireFit(records);
    const placed = records.map((record) => [this.#partitionOf(record), record] as const);
    for (const [partition, record] of placed) {
      const size = columnSize(record);
      partition.records.push(record);
      partition.bytes += size;
      this.#waitingBytes += size;
    }
    while (this.#waitingBytes > WAITING_BYTES) await this.#spillLargest();
    for (const partition of this.#partitions.values())
      if (partition.bytes >= this.#options.targetBytes) await this.#spill(partition);
  }

  /** All records are in durable files: gives the actions that add them to the table. */
  async finish(): Promise<readonly AddAction[]> {
    for (const partition of this.#partitions.values()) await this.#spill(partition);
    await this.#endStream();
    return this.#made;
  }

  /** Removes all files that were made. Never throws. */
  async discard(): Promise<void> {
    await this.#open?.discard();
    this.#open = undefined;
    for (const { path } of this.#made) await this.#options.files.remove(decodeURIComponent(path));
    this.#made = [];
    this.#partitions.clear();
  }

  async #stream(records: readonly JsonObject[]): Promise<void> {
    this.#open ??= await this.#create('', {});
    await this.#open.add(records);
    if (this.#open.bytes >= this.#options.targetBytes) await this.#endStream();
  }

  async #endStream(): Promise<void> {
    if (this.#open === undefined) return;
    this.#made.push(await this.#open.finish());
    this.#open = undefined;
  }

  #spillLargest(): Promise<void> {
    const all = [...this.#partitions.values()];
    return this.#spill(all.reduce((a, b) => (b.bytes > a.bytes ? b : a)));
  }

  async #spill(partition: Partition): Promise<void> {
    const { records, bytes, folder, values } = partition;
    if (records.length === 0) return;
    partition.records = [];
    partition.bytes = 0;
    this.#waitingBytes -= bytes;
    this.#open = await this.#create(folder, values);
    await this.#open.add(records);
    await this.#endStream();
  }

  #create(folder: string, partitionValues: Partition['values']): Promise<DataFile> {
    const { files, context, codec } = this.#options;
    return DataFile.create({
      files,
      context,
      codec,
      path: `${folder}part-${context.env.ids.next()}.parquet`,
      fields: this.#dataFields,
      kinds: this.#dataKinds,
      partitionValues,
      onDropped: (field) => this.#drop(field),
    });
  }

  /** Fields at the top are counted by the sink. */
  #drop(field: string): void {
    const { shape, context, files } = this.#options;
    const isInside = shape.fields.some(
      ({ name }) => field.startsWith(`${name}.`) || field.startsWith(`${name}[`),
    );
    if (!isInside || this.#dropped.has(field)) return;
    this.#dropped.add(field);
    context.env.log.warn('a field is not a column and is dropped', { table: files.address, field });
  }

  /** Before any of them waits in memory. */
  #requireFit(records: readonly JsonObject[]): void {
    for (const [name, kind] of this.#options.shape.kinds) {
      const place = { path: name, dropped: () => {} };
      for (const record of records) fit(exactField(record, name), kind, place);
    }
  }

  #partitionOf(record: JsonObject): Partition {
    const values = Object.fromEntries(
      this.#partitionFields.map((field) => [
        field.name,
        partitionText(exactField(record, field.name) ?? null, field),
      ]),
    );
    const key = JSON.stringify(Object.values(values));
    const known = this.#partitions.get(key);
    if (known !== undefined) return known;
    const folder = Object.entries(values)
      .map(([name, value]) => `${folderName(name, value)}/`)
      .join('');
    const partition = { values, folder, records: [], bytes: 0 };
    this.#partitions.set(key, partition);
    return partition;
  }
}

/** `name=value`, as all programs name the folders of partitions; only the log counts. */
function folderName(name: string, value: string | null): string {
  const text = `${escaped(name)}=${value === null ? NULL_FOLDER : escaped(value)}`;
  if (Buffer.byteLength(text) <= LONGEST_FOLDER) return text;
  return `partition-${createHash('sha256').update(text).digest('hex').slice(0, 32)}`;
}

/** What file systems do not take in names, or read in another way. */
function escaped(text: string): string {
  return text.replaceAll(
    /["#%'*/:=?\\{}[\]^<>|]|\p{Cc}|^\.|[. ]$/gu,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`,
  );
}
