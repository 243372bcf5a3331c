/**
 * Joins the row groups of several Parquet files in one file: their bytes are copied unchanged, only
 * the footer is new.
 */
import { open, type FileHandle } from 'node:fs/promises';
import type { ColumnChunk, FileMetaData, RowGroup, SchemaElement } from 'hyparquet';
import { onDisk } from '../io-error.ts';
import type { ParquetOutputOptions } from './parquet-file.ts';
import { keepsBounds, withFieldIds, withTimes } from './parquet-elements.ts';

const MAGIC = Buffer.from('PAR1');
const COPY_BYTES = 1024 * 1024;
/** Mostly enough for the footer of one row group; more is read when needed. */
const FOOTER_BYTES = 16 * 1024;
/** The length of the metadata, and the magic bytes again. */
const TAIL_BYTES = 8;

/**
 * A Parquet file that row groups of other files are added to. All of them have the same columns.
 */
export class ParquetJoin {
  readonly #path: string;
  readonly #schema: Pick<ParquetOutputOptions, 'columns' | 'fieldIds'>;
  readonly #handle: FileHandle;
  readonly #buffer = Buffer.allocUnsafeSlow(COPY_BYTES);
  #at = 0;
  #metadata: FileMetaData | undefined;
  #groups: RowGroup[] = [];

  /** `path` is only used in errors. */
  constructor(
    path: string,
    handle: FileHandle,
    schema: Pick<ParquetOutputOptions, 'columns' | 'fieldIds'>,
  ) {
    this.#path = path;
    this.#handle = handle;
    this.#schema = schema;
  }

  /** Adds the row groups of a complete Parquet file. */
  async add(part: string): Promise<void> {
    const { parquetMetadataAsync } = await import('hyparquet');
    const input = await onDisk('read', part, () => open(part, 'r'));
    try {
      const { size } = await input.stat();
      const slice = async (start: number, end = size): Promise<ArrayBuffer> => {
        const bytes = new Uint8Array(end - start);
        await input.read(bytes, 0, bytes.length, start);
        return bytes.buffer;
      };
      const { columns, fieldIds } = this.#schema;
      const metadata = named(
        await parquetMetadataAsync(
          { byteLength: size, slice },
          { geoparquet: false, initialFetchSize: FOOTER_BYTES },
        ),
        [...columns.keys()],
      );
      if (this.#at === 0) await this.#write(MAGIC);
      const shift = BigInt(this.#at - MAGIC.length);
      const schema = withFieldIds(withTimes(metadata.schema, columns), fieldIds);
      this.#metadata ??= { ...metadata, schema };
      const leaves = metadata.schema.filter(({ type }) => type !== undefined);
      for (const group of metadata.row_groups)
        this.#groups.push(shifted(withoutWrongBounds(group, leaves), shift));
      await this.#copy(input, MAGIC.length, size - TAIL_BYTES - metadata.metadata_length);
    } finally {
      await input.close();
    }
  }

  /** Writes the footer; at least one part must have been added. */
  async finish(): Promise<void> {
    if (this.#metadata === undefined) return;
    const { ByteWriter } = await import('hyparquet-writer');
    const { writeMetadata } = await import('hyparquet-writer/src/metadata.js');
    const rows = this.#groups.reduce((sum, group) => sum + group.num_rows, 0n);
    const footer = new ByteWriter();
    writeMetadata(footer, { ...this.#metadata, num_rows: rows, row_groups: this.#groups });
    // The library writes the length of the metadata but not the magic bytes.
    await this.#write(footer.getBytes());
    await this.#write(MAGIC);
  }

  async #copy(input: FileHandle, from: number, to: number): Promise<void> {
    for (let at = from; at < to;) {
      const { bytesRead } = await input.read(this.#buffer, 0, Math.min(COPY_BYTES, to - at), at);
      await this.#write(this.#buffer.subarray(0, bytesRead));
      at += bytesRead;
    }
  }

  async #write(bytes: Uint8Array): Promise<void> {
    for (let written = 0; written < bytes.length;) {
      const from = written;
      written += (await onDisk('write', this.#path, () => this.#handle.write(bytes, from)))
        .bytesWritten;
    }
    this.#at += bytes.length;
  }
}

/**
 * The engine names columns by their position, because it ignores the case of names and has no empty
 * ones.
 */
function named(metadata: FileMetaData, names: readonly string[]): FileMetaData {
  const columns = childrenOf(metadata.schema);
  const nameOf = new Map(columns.map(({ name }, index) => [name, names[index] ?? name]));
  const isColumn = new Set(columns);
  return {
    ...metadata,
    schema: metadata.schema.map((element) =>
      isColumn.has(element) ? { ...element, name: nameOf.get(element.name) ?? '' } : element,
    ),
    row_groups: metadata.row_groups.map((group) => ({
      ...group,
      columns: group.columns.map((column) => renamedChunk(column, nameOf)),
    })),
  };
}

/** The elements directly below the root, whose list has all elements depth first. */
function childrenOf([, ...elements]: readonly SchemaElement[]): SchemaElement[] {
  const children: SchemaElement[] = [];
  let below = 0;
  for (const element of elements) {
    if (below === 0) children.push(element);
    else below -= 1;
    below += element.num_children ?? 0;
  }
  return children;
}

function renamedChunk(column: ColumnChunk, nameOf: ReadonlyMap<string, string>): ColumnChunk {
  const { meta_data: data } = column;
  if (data === undefined) return column;
  const [first = '', ...inner] = data.path_in_schema;
  const path = [nameOf.get(first) ?? first, ...inner];
  return { ...column, meta_data: { ...data, path_in_schema: path } };
}

/** Bounds that are not exact would have readers skip row groups that hold what they look for. */
function withoutWrongBounds(group: RowGroup, leaves: readonly SchemaElement[]): RowGroup {
  const columns = group.columns.map((column, index) => {
    const [{ meta_data: data }, leaf] = [column, leaves[index]];
    if (data?.statistics === undefined || (leaf !== undefined && keepsBounds(leaf))) return column;
    const { null_count } = data.statistics;
    const statistics = null_count === undefined ? {} : { null_count };
    return { ...column, meta_data: { ...data, statistics } };
  });
  return { ...group, columns };
}

function shifted(group: RowGroup, shift: bigint): RowGroup {
  const columns = group.columns.map((column) => shiftedColumn(column, shift));
  return { ...group, columns, ...moved(group, ['file_offset'], shift) };
}

function shiftedColumn(column: ColumnChunk, shift: bigint): ColumnChunk {
  const { meta_data: data } = column;
  const places = ['file_offset', 'offset_index_offset', 'column_index_offset'] as const;
  if (data === undefined) return { ...column, ...moved(column, places, shift) };
  const inside = [
    'data_page_offset',
    'index_page_offset',
    'dictionary_page_offset',
    'bloom_filter_offset',
  ] as const;
  return {
    ...column,
    ...moved(column, places, shift),
    meta_data: { ...data, ...moved(data, inside, shift) },
  };
}

/** The offsets that are present, shifted. An offset of 0 means none. */
function moved<T extends object>(of: T, places: readonly (keyof T)[], shift: bigint): Partial<T> {
  const present = places.filter((place) => typeof of[place] === 'bigint' && of[place] !== 0n);
  return Object.fromEntries(
    present.map((place) => [place, (of[place] as bigint) + shift]),
  ) as Partial<T>;
}
