import { open, type FileHandle } from 'node:fs/promises';
import type { AsyncBuffer, FileMetaData, RowGroup } from 'hyparquet';
import { ConnectorError, messageOf } from '../../../lib/errors.ts';
import { setField, type JsonObject } from '../../../lib/text/json.ts';
import { onDisk } from '../io-error.ts';
import type { RecordSchema } from '../../../kit/record-schema.ts';
import { typeText } from '../../../kit/type-text.ts';
import { fieldOf } from './logical-types.ts';
import { damagedPage } from './page-checksums.ts';
import { PageTooLarge, pageCodecs } from './parquet-codecs.ts';
import { readFooter, requirePlainColumns, unreadable } from './parquet-footer.ts';
import { WrongText } from './parquet-text.ts';
import {
  converterOf,
  RAW_PARSERS,
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

export interface ParquetOpenOptions {
  readonly path: string;
  readonly signal: AbortSignal;
  /** Top-level columns to read; all when absent. */
  readonly columns?: readonly string[] | undefined;
  /** Instead of `columns`: which of those of the file are read. */
  readonly choose?: ((fields: readonly SchemaNode[]) => readonly string[]) | undefined;
  /** Omit keys whose value is null. */
  readonly omitNulls: boolean;
}

/** Gives parts of a file that is elsewhere. */
export type ByteRanges = AsyncBuffer;

interface Selection {
  readonly rowStart: number;
  readonly rowEnd: number;
  readonly useOffsetIndex: boolean;
}

/** A Parquet file opened for reading, one row group after the other. */
export class ParquetReader {
  /** The type of each column as text, by name. */
  readonly columns: ReadonlyMap<string, string>;
  /** All top-level fields of the file. */
  readonly fields: readonly SchemaNode[];
  /** Of the columns that are read; records leave out those that are null. */
  readonly schema: RecordSchema;
  readonly #options: ParquetOpenOptions;
  readonly #handle: FileHandle | undefined;
  readonly #file: AsyncBuffer;
  readonly #metadata: FileMetaData;
  readonly #converters: ReadonlyMap<string, Convert>;

  private constructor(
    given: ParquetOpenOptions,
    opened: {
      handle: FileHandle | undefined;
      file: AsyncBuffer;
      metadata: FileMetaData;
      tree: SchemaNode;
    },
  ) {
    const { children } = opened.tree;
    const options =
      given.choose === undefined ? given : { ...given, columns: given.choose(children) };
    this.#options = options;
    this.fields = children;
    this.#handle = opened.handle;
    this.#file = opened.file;
    this.#metadata = opened.metadata;
    const types = children.map(fieldOf);
    this.columns = new Map(types.map(({ name, type }) => [name, typeText(type)]));
    for (const wanted of options.columns ?? []) {
      if (!this.columns.has(wanted))
        throw new ConnectorError(
          'data',
          `${options.path} has no column called ${JSON.stringify(wanted)}`,
        );
    }
    const read = children.filter((node) => isWanted(node.element.name, options));
    refuseLostColumns(read, options.path);
    this.schema = { fields: read.map(fieldOf), others: true };
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

  /** Reads the parts that it needs; `path` is only used in errors. */
  static ofRanges(file: ByteRanges, options: ParquetOpenOptions): Promise<ParquetReader> {
    return ParquetReader.#over(file, undefined, options);
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
    const { parquetSchema } = await import('hyparquet');
    const metadata = await readFooter(file, options.path);
    const tree = parquetSchema(metadata);
    const reader = new ParquetReader(options, { handle, file, metadata, tree });
    requirePlainColumns(metadata, (name) => isWanted(name, reader.#options), options.path);
    return reader;
  }

  get rows(): number {
    return Number(this.#metadata.num_rows);
  }

  get rowGroups(): number {
    return this.#metadata.row_groups.length;
  }

  rowsOf(group: number): number {
    return Number(this.#metadata.row_groups[group]?.num_rows ?? 0);
  }

  /** The records of a row group, slice by slice. */
  async *rowGroup(index: number): AsyncGenerator<JsonObject[]> {
    const groups = this.#metadata.row_groups;
    const group = groups[index];
    if (group === undefined) return;
    await this.#checkPages(group);
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

  /** A value in a damaged page may still be one that can be decoded. */
  async #checkPages({ columns }: RowGroup): Promise<void> {
    const { path, signal } = this.#options;
    for (const { meta_data: column } of columns) {
      const name = column?.path_in_schema[0] ?? '';
      if (column === undefined || !this.#converters.has(name)) continue;
      signal.throwIfAborted();
      const at = await damagedPage(this.#file, column);
      if (at !== undefined)
        throw unreadable(
          path,
          `a page of the column ${JSON.stringify(name)} is damaged: what stands at byte ${at} is not what its checksum says`,
        );
    }
  }

  async close(): Promise<void> {
    await this.#handle?.close().catch(() => {});
  }

  async #rows(rowStart: number, rowEnd: number, useOffsetIndex: boolean): Promise<JsonObject[]> {
    const selection = { rowStart, rowEnd, useOffsetIndex };
    const names = [...this.#converters.keys()];
    try {
      const rows = await this.#read(names, selection);
      return rows.map((row) => this.#record(row));
    } catch (error) {
      this.#options.signal.throwIfAborted();
      if (error instanceof ConnectorError) throw error;
      throw await this.#damage(names, selection, error);
    }
  }

  /** Finds out which column cannot be read, by reading each on its own. */
  async #damage(names: readonly string[], selection: Selection, cause: unknown): Promise<Error> {
    const { path } = this.#options;
    for (const name of names) {
      try {
        const rows = await this.#read([name], selection);
        for (const row of rows) this.#converters.get(name)?.(row[name]);
      } catch (error) {
        return error instanceof ConnectorError ? error : columnError(path, name, error);
      }
    }
    return unreadable(path, 'its pages cannot be decoded', cause);
  }

  async #read(names: string[], selection: Selection): Promise<Record<string, unknown>[]> {
    const { parquetRead } = await import('hyparquet');
    const covered = new Map<string, number>();
    const compressors = await pageCodecs();
    const rows = await new Promise<Record<string, unknown>[]>((resolve, reject) => {
      parquetRead({
        file: this.#file,
        metadata: { ...this.#metadata, schema: withoutLossyTypes(this.#metadata.schema) },
        columns: names,
        ...selection,
        compressors,
        utf8: false,
        geoparquet: false,
        parsers: RAW_PARSERS,
        rowFormat: 'object',
        onChunk: ({ columnName, rowEnd }) => covered.set(columnName, rowEnd),
        onComplete: resolve,
      }).catch(reject);
    });
    // The library reads missing pages as nulls.
    for (const name of names)
      if ((covered.get(name) ?? 0) < selection.rowEnd)
        throw columnError(this.#options.path, name, new Error('values are missing'));
    return rows;
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
      // Places come from the file. The system would read those before its beginning where it stands.
      if (start < 0 || end < start) throw new RangeError(`bytes ${start} to ${end}`);
      const buffer = new ArrayBuffer(end - start);
      const { bytesRead } = await onDisk('read', path, () =>
        handle.read(new Uint8Array(buffer), 0, buffer.byteLength, start),
      );
      return buffer.slice(0, bytesRead);
    },
  };
}

function isWanted(name: string, { columns }: ParquetOpenOptions): boolean {
  return columns?.includes(name) ?? true;
}

/** The library names what it does not support; any other error means damage. */
function columnError(path: string, name: string, error: unknown): ConnectorError {
  const column = `the column ${JSON.stringify(name)}`;
  const unknown = /unsupported (.+)$/.exec(messageOf(error))?.[1];
  if (unknown !== undefined)
    return new ConnectorError(
      'data',
      `cannot read ${path} as Parquet: ${column} has an unknown ${unknown}`,
      {
        hint: 'leave it out with `columns`, or have the file written another way',
        cause: error,
      },
    );
  if (error instanceof PageTooLarge)
    return new ConnectorError(
      'data',
      `cannot read ${path} as Parquet: ${column} has ${error.message}`,
      {
        hint: 'leave it out with `columns`, or have the file written with smaller pages',
        cause: error,
      },
    );
  if (error instanceof WrongText)
    return new ConnectorError(
      'data',
      `cannot read ${path} as Parquet: ${column} has ${error.message}`,
      {
        hint: error.hint,
        cause: error,
      },
    );
  return unreadable(path, `${column} is damaged`, error);
}

/** A record holds one value of a name, and the library that reads loses those called `__proto__`. */
function refuseLostColumns(nodes: readonly SchemaNode[], path: string): void {
  const names = new Set<string>();
  for (const { element, children } of nodes) {
    const name = JSON.stringify(element.name);
    if (element.name === '__proto__')
      throw lostColumn(`${path} has a column called ${name}, which cannot be read`);
    if (names.has(name)) throw lostColumn(`${path} has two columns called ${name}`);
    names.add(name);
    refuseLostColumns(children, path);
  }
}

function lostColumn(message: string): ConnectorError {
  return new ConnectorError('data', message, {
    hint: 'rename it where the file is written, or read other columns alone (`parquet.columns` of the source `file`)',
  });
}
