import { columnSize } from '../../../kit/rough-size.ts';
import { open, rm, type FileHandle } from 'node:fs/promises';
import { renameOver } from '../../../lib/files/regular-file.ts';
import { gzipSync, zstdCompressSync } from 'node:zlib';
import type { CompressionCodec } from 'hyparquet';
import type { ByteWriter, ParquetWriter } from 'hyparquet-writer';
import { exactField } from '../../../lib/text/json-literal.ts';
import type { JsonObject } from '../../../lib/text/json.ts';
import { syncFolder } from '../output/appending-file.ts';
import { onDisk } from '../io-error.ts';
import { lz4Block } from '../compression/lz4.ts';
import type { ParquetCodec, ParquetFile, ParquetOutputOptions } from './parquet-file.ts';
import { fit } from '../typed/fit-value.ts';
import { libraryForm } from './library-form.ts';
import { schemaOf, withFieldIds, withoutJson } from './parquet-elements.ts';
import { temporaryPath } from '../output/temporary-path.ts';

const CODEC_NAMES: Readonly<Record<ParquetCodec, CompressionCodec>> = {
  snappy: 'SNAPPY',
  uncompressed: 'UNCOMPRESSED',
  gzip: 'GZIP',
  zstd: 'ZSTD',
  lz4: 'LZ4_RAW',
};

const COMPRESSORS = {
  GZIP: (input: Uint8Array) => gzipSync(input),
  ZSTD: (input: Uint8Array) => zstdCompressSync(input),
  LZ4_RAW: lz4Block,
};

/** A row group is written when its values need about this much memory. */
const ROW_GROUP_BYTES = 16 * 1024 * 1024;

/** Writes a Parquet file under a temporary name; it gets its final name when it is complete. */
export class ParquetOutput implements ParquetFile {
  rows = 0;
  /** Estimated size of the values accepted so far. */
  bytes = 0;
  readonly #options: ParquetOutputOptions;
  readonly #temporary: string;
  readonly #handle: FileHandle;
  readonly #buffer: ByteWriter;
  readonly #writer: ParquetWriter;
  readonly #dropped = new Set<string>();
  #columns: Map<string, unknown[]>;
  #groupRows = 0;
  #groupBytes = 0;

  private constructor(
    options: ParquetOutputOptions,
    parts: { temporary: string; handle: FileHandle; buffer: ByteWriter; writer: ParquetWriter },
  ) {
    this.#options = options;
    this.#temporary = parts.temporary;
    this.#handle = parts.handle;
    this.#buffer = parts.buffer;
    this.#writer = parts.writer;
    this.#columns = emptyColumns(options);
  }

  static async create(options: ParquetOutputOptions): Promise<ParquetOutput> {
    const library = await import('hyparquet-writer');
    const temporary = temporaryPath(options.path);
    const handle = await onDisk('write', options.path, () => open(temporary, 'wx'));
    const buffer = new library.ByteWriter(64 * 1024);
    const writer = new library.ParquetWriter({
      writer: buffer,
      schema: withoutJson(schemaOf(options.columns)),
      codec: CODEC_NAMES[options.codec],
      compressors: COMPRESSORS,
      createdBy: 'headgate',
    });
    return new ParquetOutput(options, { temporary, handle, buffer, writer });
  }

  /** Adds all records or, when one does not fit, none. */
  async add(records: readonly JsonObject[]): Promise<void> {
    const rows = records.map((record) => this.#row(record));
    for (const [index, row] of rows.entries()) {
      let column = 0;
      for (const values of this.#columns.values()) {
        values.push(row[column]);
        column += 1;
      }
      this.rows += 1;
      this.#groupRows += 1;
      const size = columnSize(records[index] ?? null);
      this.bytes += size;
      this.#groupBytes += size;
      if (this.#groupRows >= this.#options.rowGroupSize || this.#groupBytes >= ROW_GROUP_BYTES)
        await this.#endGroup();
    }
  }

  /** Writes the remaining rows and the footer, and renames the file to its final name. */
  async finish(): Promise<void> {
    try {
      await this.#endGroup();
      const { columns, fieldIds } = this.#options;
      this.#writer.schema = withFieldIds(schemaOf(columns), fieldIds);
      await this.#writer.finish();
      await this.#drain();
      await onDisk('write', this.#options.path, () => this.#handle.sync());
    } finally {
      await this.#handle.close();
    }
    await onDisk('write', this.#options.path, () =>
      renameOver(this.#temporary, this.#options.path),
    );
    await syncFolder(this.#options.path);
  }

  /** Removes all files. Never throws. */
  async discard(): Promise<void> {
    await this.#handle.close().catch(() => {});
    await rm(this.#temporary, { force: true }).catch(() => {});
  }

  #row(record: JsonObject): unknown[] {
    const { columns } = this.#options;
    const dropped = (path: string) => this.#drop(path);
    const row = [...columns].map(([name, kind]) =>
      libraryForm(fit(exactField(record, name), kind, { path: name, dropped }), kind),
    );
    for (const name of Object.keys(record)) if (!columns.has(name)) this.#drop(name);
    return row;
  }

  #drop(field: string): void {
    if (this.#dropped.has(field)) return;
    this.#dropped.add(field);
    this.#options.onDropped(field);
  }

  async #endGroup(): Promise<void> {
    if (this.#groupRows === 0) return;
    // The dictionaries of the library hold one zero.
    const columnData = [...this.#columns].map(([name, data]) =>
      data.some(hasNegativeZero) ? { name, data, encoding: 'PLAIN' as const } : { name, data },
    );
    await this.#writer.write({ columnData, rowGroupSize: this.#groupRows });
    this.#columns = emptyColumns(this.#options);
    this.#groupRows = 0;
    this.#groupBytes = 0;
    await this.#drain();
  }

  /** Moves the bytes that the library collected in memory to the file. */
  async #drain(): Promise<void> {
    const bytes = this.#buffer.getBytes();
    let written = 0;
    while (written < bytes.length) {
      const from = written;
      written += (await onDisk('write', this.#options.path, () => this.#handle.write(bytes, from)))
        .bytesWritten;
    }
    this.#buffer.index = 0;
  }
}

function hasNegativeZero(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return Object.is(value, -0);
  return !ArrayBuffer.isView(value) && Object.values(value).some(hasNegativeZero);
}

function emptyColumns({ columns }: ParquetOutputOptions): Map<string, unknown[]> {
  return new Map([...columns.keys()].map((name) => [name, []]));
}
