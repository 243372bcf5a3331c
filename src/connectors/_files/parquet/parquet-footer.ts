import type { AsyncBuffer, ColumnChunk, FileMetaData } from 'hyparquet';
import { ConnectorError } from '../../../lib/errors.ts';

const MAGIC = 'PAR1';
/** Replaces the magic bytes when the footer is encrypted. */
const ENCRYPTED_MAGIC = 'PARE';
const MAGIC_BYTES = MAGIC.length;
/** At the end: the length of the metadata, and the magic bytes. */
const TAIL_BYTES = 4 + MAGIC_BYTES;

/** Reads the metadata at the end of a file. `path` is for errors. */
export async function readFooter(file: AsyncBuffer, path: string): Promise<FileMetaData> {
  await checkMagic(file, path);
  const metadata = await parsedFooter(file, path);
  if ([metadata, ...metadata.row_groups].some((part) => part.num_rows < 0n))
    throw unreadable(path, 'its footer is damaged: it counts fewer than no rows');
  return withWholeChunks(metadata, file.byteLength);
}

async function parsedFooter(file: AsyncBuffer, path: string): Promise<FileMetaData> {
  const { parquetMetadataAsync } = await import('hyparquet');
  try {
    return await parquetMetadataAsync(file, { geoparquet: false });
  } catch (error) {
    throw unreadable(path, 'its footer is damaged', error);
  }
}

async function checkMagic(file: AsyncBuffer, path: string): Promise<void> {
  const size = file.byteLength;
  if (size === 0) throw unreadable(path, 'it is empty');
  const start = Buffer.from(await file.slice(0, Math.min(size, MAGIC_BYTES))).toString('latin1');
  if (start === ENCRYPTED_MAGIC) throw encrypted(path, 'it');
  if (start !== MAGIC) throw unreadable(path, 'it does not begin as a Parquet file does');
  if (size < MAGIC_BYTES + TAIL_BYTES) throw unreadable(path, 'it is cut off');
  const tail = Buffer.from(await file.slice(size - TAIL_BYTES, size));
  const end = tail.toString('latin1', TAIL_BYTES - MAGIC_BYTES);
  if (end === ENCRYPTED_MAGIC) throw encrypted(path, 'it');
  if (end !== MAGIC)
    throw unreadable(path, 'its footer is missing: it is cut off, or still written');
  if (tail.readUInt32LE(0) > size - MAGIC_BYTES - TAIL_BYTES)
    throw unreadable(path, 'its footer is damaged');
}

/** Refuses columns that are encrypted one by one, in a file whose footer is plain. */
export function requirePlainColumns(
  metadata: FileMetaData,
  wanted: (name: string) => boolean,
  path: string,
): void {
  for (const { columns } of metadata.row_groups)
    for (const column of columns) {
      const name = column.meta_data?.path_in_schema[0];
      if (name !== undefined && !wanted(name)) continue;
      if (column.crypto_metadata !== undefined || column.meta_data === undefined)
        throw encrypted(
          path,
          name === undefined ? 'a column' : `the column ${JSON.stringify(name)}`,
        );
    }
}

function encrypted(path: string, what: string): ConnectorError {
  return new ConnectorError('data', `cannot read ${path} as Parquet: ${what} is encrypted`, {
    hint: 'reading encrypted Parquet is not available; have it written without encryption',
  });
}

export function unreadable(path: string, why: string, cause?: unknown): ConnectorError {
  return new ConnectorError('data', `cannot read ${path} as Parquet: ${why}`, {
    hint: 'get the file again from its origin, and check it with another Parquet reader',
    ...(cause === undefined ? {} : { cause }),
  });
}

/** The writer of Hadoop left the header of the dictionary out of the size of a column before 1.2.9. */
const SHORT_CHUNKS = /^parquet-mr(?! version (?:[2-9]|\d\d|1\.[3-9]|1\.\d\d|1\.2\.(?:9|\d\d)))/;
const DICTIONARY_HEADER_BYTES = 100n;

function withWholeChunks(metadata: FileMetaData, size: number): FileMetaData {
  if (!SHORT_CHUNKS.test(metadata.created_by ?? '')) return metadata;
  const end = BigInt(size - metadata.metadata_length - TAIL_BYTES);
  return {
    ...metadata,
    row_groups: metadata.row_groups.map((group) => ({
      ...group,
      columns: group.columns.map((column) => withHeader(column, end)),
    })),
  };
}

function withHeader(column: ColumnChunk, end: bigint): ColumnChunk {
  const { meta_data: data } = column;
  // Only flat columns are read up to their last value; others are read to the end of their bytes.
  if (data === undefined || data.path_in_schema.length > 1) return column;
  const start = data.dictionary_page_offset || data.data_page_offset;
  const left = end - start - data.total_compressed_size;
  const more = left < DICTIONARY_HEADER_BYTES ? left : DICTIONARY_HEADER_BYTES;
  if (more <= 0n) return column;
  return {
    ...column,
    meta_data: { ...data, total_compressed_size: data.total_compressed_size + more },
  };
}
