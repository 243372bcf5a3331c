import { open, type FileHandle } from 'node:fs/promises';
import type { AsyncBuffer, FileMetaData } from 'hyparquet';
import { ConnectorError, messageOf } from '../../../lib/errors.ts';
import { setField, type JsonObject } from '../../../lib/text/json.ts';
import { onDisk } from '../io-error.ts';
import {
  converterOf,
  RAW_PARSERS,
  signature,
  withoutLossyTypes,
  type Convert,
  type SchemaNode,
} from './parquet-values.ts';

/**
 * Where the file has an index of its pages, a row group is read in slices of about this size and
 * this many rows.
 */
const SLICE_BYTES = 16 * 1024 * 1024;
const SLICE_ROWS = 50_000;
/** Replaces the block of a page with only nulls, which the library cannot read. */
const NO_BYTES = new Uint8Array();

export interface ParquetOpenOptions {
  readonly path: string;
  readonly signal: AbortSignal;
  /** Top-level columns to read; all when absent. */
  readonly columns?: readonly string[] | undefined;
  /** Omit keys whose value is null. */
  readonly omitNulls: boolean;
}

/** A Parquet file opened for reading, one row group after the other. */
export class ParquetReader {
  /** The signature of each column, by name. */
  readonly columns: ReadonlyMap<string, string>;
  readonly #options: ParquetOpenOptions;
  readonly #handle: FileHandle | undefined;
  readonly #file: AsyncBuffer;
  readonly #metadata: FileMetaData;
  readonly #converters: ReadonlyMap<string, Convert>;

  private constructor(
    options: ParquetOpenOptions,
    opened: {
      handle: FileHandle | undefined;
      file: AsyncBuffer;
      metadata: FileMetaData;
      tree: SchemaNode;
    },
  ) {
    this.#options = options;
    this.#handle = opened.handle;
    this.#file = opened.file;
    this.#metadata = opened.metadata;
    const { children } = opened.tree;
    this.columns = new Map(children.map((node) => [node.element.name, signature(node)]));
    for (const wanted of options.columns ?? []) {
      if (!this.columns.has(wanted))
        throw new ConnectorError(
          'data',
          `${options.path} has no column called ${JSON.stringify(wanted)}`,
        );
    }
    const read = children.filter((node) => options.columns?.includes(node.element.name) ?? true);
    this.#converters = new Map(
      read.map((node) => [node.element.name, converterOf(node, options.omitNulls)]),
    );
  }

  /** Reads from memory; `path` is only used in errors. */
  static async ofBytes(bytes: Buffer, options: ParquetOpenOptions): Promise<ParquetReader> {
    const whole = new Uint8Array(bytes).buffer;
    return ParquetReader.#over(
      { byteLength: whole.byteLength, slice: (start, end) => whole.slice(start, end) },
      undefined,
      options,
    );
  }

  static async open(options: ParquetOpenOptions): Promise<ParquetReader> {
    const handle = await onDisk('read', options.path, () => open(options.path, 'r'));
    try {
      return await ParquetReader.#over(await asyncBuffer(handle, options), handle, options);
    } catch (error) {
      await handle.close();
      throw error;
    }
  }

  static async #over(
    file: AsyncBuffer,
    handle: FileHandle | undefined,
    options: ParquetOpenOptions,
  ): Promise<ParquetReader> {
    const { parquetMetadataAsync, parquetSchema } = await import('hyparquet');
    const metadata = await reading(options, () =>
      parquetMetadataAsync(file, { geoparquet: false }),
    );
    return new ParquetReader(options, { handle, file, metadata, tree: parquetSchema(metadata) });
  }

  get rowGroups(): number {
    return this.#metadata.row_groups.length;
  }

  /** The records of a row group, slice by slice. */
  async *rowGroup(index: number): AsyncGenerator<JsonObject[]> {
    const groups = this.#metadata.row_groups;
    const group = groups[index];
    if (group === undefined) return;
    const start = groups.slice(0, index).reduce((sum, one) => sum + Number(one.num_rows), 0);
    const rows = Number(group.num_rows);
    const sliceable = group.columns.every((column) => column.offset_index_offset !== undefined);
    const slices = sliceable
      ? Math.ceil(Math.max(1, Number(group.total_byte_size) / SLICE_BYTES, rows / SLICE_ROWS))
      : 1;
    const step = Math.max(1, Math.ceil(rows / slices));
    for (let from = 0; from < rows; from += step) {
      this.#options.signal.throwIfAborted();
      yield await this.#rows(start + from, start + Math.min(rows, from + step), slices > 1);
    }
  }

  async close(): Promise<void> {
    await this.#handle?.close().catch(() => {});
  }

  async #rows(rowStart: number, rowEnd: number, useOffsetIndex: boolean): Promise<JsonObject[]> {
    const { parquetReadObjects } = await import('hyparquet');
    const { compressors, decompressLz4Raw: unpackLz4 } = await import('hyparquet-compressors');
    const rows = await reading(this.#options, () =>
      parquetReadObjects({
        file: this.#file,
        metadata: { ...this.#metadata, schema: withoutLossyTypes(this.#metadata.schema) },
        columns: [...this.#converters.keys()],
        rowStart,
        rowEnd,
        useOffsetIndex,
        compressors: {
          ...compressors,
          LZ4_RAW: (input, length) => (length === 0 ? NO_BYTES : unpackLz4(input, length)),
        },
        utf8: false,
        geoparquet: false,
        parsers: RAW_PARSERS,
      }),
    );
    return rows.map((row) => this.#record(row));
  }

  #record(row: Record<string, unknown>): JsonObject {
    const record: JsonObject = {};
    for (const [name, convert] of this.#converters) {
      const value = convert(row[name]);
      if (value !== null || !this.#options.omitNulls) setField(record, name, value);
    }
    return record;
  }
}

async function asyncBuffer(
  handle: FileHandle,
  { path, signal }: ParquetOpenOptions,
): Promise<AsyncBuffer> {
  const { size } = await handle.stat();
  return {
    byteLength: size,
    slice: async (start, end = size) => {
      signal.throwIfAborted();
      const buffer = new ArrayBuffer(end - start);
      const { bytesRead } = await onDisk('read', path, () =>
        handle.read(new Uint8Array(buffer), 0, buffer.byteLength, start),
      );
      return buffer.slice(0, bytesRead);
    },
  };
}

/** An error of the library means that the file is damaged. */
async function reading<T>(
  { path, signal }: ParquetOpenOptions,
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work();
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof ConnectorError) throw error;
    throw new ConnectorError('data', `cannot read ${path} as Parquet: ${messageOf(error)}`, {
      cause: error,
    });
  }
}
