/** The data files of what is not committed yet: one stream of them, or some for each partition. */
import { columnSize } from '../../kit/rough-size.ts';
import { exactField } from '../../lib/text/json-literal.ts';
import type { JsonObject } from '../../lib/text/json.ts';
import { fit } from '../_files/typed/fit-value.ts';
import type { ColumnKind } from '../_files/typed/column-kinds.ts';
import type { LakeField } from './lake-types.ts';
import { requireValues } from './required-values.ts';

/** Records of partitions that wait in memory for the file of their partition. */
const WAITING_BYTES = 64 * 1024 * 1024;

/** A data file that is being written. */
export interface OpenDataFile<A> {
  readonly bytes: number;
  /** Adds all records or, when one does not fit, none. */
  add(records: readonly JsonObject[]): Promise<void>;
  /** The file is durable: gives what the table is told of it. */
  finish(): Promise<A>;
  /** Never throws. */
  discard(): Promise<void>;
}

/** A partition of a record: its values, as the format has them, and a text that tells it apart. */
export interface Placed<V> {
  readonly key: string;
  readonly values: V;
}

export interface DataFilesOptions<A, V> {
  readonly fields: readonly LakeField[];
  readonly kinds: ReadonlyMap<string, ColumnKind>;
  /** Another file begins when one has about so many bytes of values. */
  readonly targetBytes: number;
  /** `undefined`: of a table without partitions. */
  readonly create: (partition: V | undefined) => Promise<OpenDataFile<A>>;
  /** Removes a file that was finished. Never throws. */
  readonly remove: (made: A) => Promise<void>;
  /** Absent where the table has no partitions. */
  readonly partitionOf?: ((record: JsonObject) => Placed<V>) | undefined;
}

interface Partition<V> {
  readonly values: V;
  records: JsonObject[];
  bytes: number;
}

export class DataFiles<A, V> {
  readonly #options: DataFilesOptions<A, V>;
  readonly #partitions = new Map<string, Partition<V>>();
  #waitingBytes = 0;
  #open: OpenDataFile<A> | undefined;
  /** Of files that are durable and not committed. */
  #made: A[] = [];

  constructor(options: DataFilesOptions<A, V>) {
    this.#options = options;
  }

  /** Takes all records or, when one does not fit, none. */
  async add(records: readonly JsonObject[]): Promise<void> {
    const { fields, partitionOf } = this.#options;
    requireValues(records, fields);
    if (partitionOf === undefined) {
      await this.#stream(records);
      return;
    }
    // Before any of them waits in memory.
    requireFit(records, this.#options.kinds);
    const placed = records.map((record) => [this.#partition(partitionOf(record)), record] as const);
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

  /** All records are in durable files: gives what the table is told of them. */
  async finish(): Promise<readonly A[]> {
    for (const partition of this.#partitions.values()) await this.#spill(partition);
    await this.#endStream();
    return this.#made;
  }

  /** Removes all files that were made. Never throws. */
  async discard(): Promise<void> {
    await this.#open?.discard();
    this.#open = undefined;
    for (const made of this.#made) await this.#options.remove(made);
    this.#made = [];
    this.#partitions.clear();
  }

  async #stream(records: readonly JsonObject[]): Promise<void> {
    this.#open ??= await this.#options.create(undefined);
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

  async #spill(partition: Partition<V>): Promise<void> {
    const { records, bytes, values } = partition;
    if (records.length === 0) return;
    partition.records = [];
    partition.bytes = 0;
    this.#waitingBytes -= bytes;
    this.#open = await this.#options.create(values);
    await this.#open.add(records);
    await this.#endStream();
  }

  #partition({ key, values }: Placed<V>): Partition<V> {
    const known = this.#partitions.get(key);
    if (known !== undefined) return known;
    const partition = { values, records: [], bytes: 0 };
    this.#partitions.set(key, partition);
    return partition;
  }
}

/** Throws for the first record with a value that its column cannot hold. */
export function requireFit(
  records: readonly JsonObject[],
  kinds: ReadonlyMap<string, ColumnKind>,
): void {
  for (const [name, kind] of kinds) {
    const place = { path: name, dropped: () => {} };
    for (const record of records) fit(exactField(record, name), kind, place);
  }
}
