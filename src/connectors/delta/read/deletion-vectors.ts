/** Which rows of a data file are deleted, as its deletion vector says. */
import { crc32 } from 'node:zlib';
import { ConnectorError } from '../../../lib/errors.ts';
import type { TableFiles } from '../../_lake/table-files.ts';
import type { AddedFile, DeletionVector } from '../log/actions.ts';
import { readBitmap } from './roaring.ts';

const MAGIC = 1_681_511_377;
const FILE_VERSION = 1;
/** A UUID as text of base 85. */
const ID_CHARS = 20;

export async function deletedRows(
  files: TableFiles,
  { path, deletionVector: vector }: AddedFile,
): Promise<ReadonlySet<number> | undefined> {
  if (vector === undefined) return undefined;
  const name = `the deletion vector of ${files.address}${path}`;
  const bytes = await bytesOf(files, vector, name);
  if (bytes.length < 4 || bytes.readUInt32LE(0) !== MAGIC)
    throw damaged(name, 'is of an unknown format');
  const rows = new Set<number>();
  readBitmap(bytes.subarray(4), (row) => rows.add(row));
  if (rows.size !== vector.cardinality)
    throw damaged(name, `has ${rows.size} rows, and the log says ${vector.cardinality}`);
  return rows;
}

async function bytesOf(files: TableFiles, vector: DeletionVector, name: string): Promise<Buffer> {
  const { storageType, pathOrInlineDv: text } = vector;
  if (storageType === 'i') return base85(text, name).subarray(0, vector.sizeInBytes);
  if (storageType !== 'u')
    throw new ConnectorError('refused', `${name} is outside of the folder of the table`, {
      hint: 'shallow clones cannot be read; copy the table as a whole',
    });
  const prefix = text.slice(0, -ID_CHARS);
  const id = base85(text.slice(-ID_CHARS), name).toString('hex').replace(UUID, '$1-$2-$3-$4-$5');
  const path = `${prefix === '' ? '' : `${prefix}/`}deletion_vector_${id}.bin`;
  const file = await files.read(path);
  if (file === undefined) throw new ConnectorError('missing', `${name} is gone: ${path}`);
  return stored(file, vector, name);
}

const UUID = /^(.{8})(.{4})(.{4})(.{4})(.{12})$/;

/** The length, the bytes, and their checksum. */
function stored(
  file: Buffer,
  { offset = 1, sizeInBytes: size }: DeletionVector,
  name: string,
): Buffer {
  if (file[0] !== FILE_VERSION) throw damaged(name, 'is in a file of an unknown version');
  if (file.length < offset + size + 8) throw damaged(name, 'is cut off');
  const bytes = file.subarray(offset + 4, offset + 4 + size);
  if (file.readUInt32BE(offset) !== size || file.readUInt32BE(offset + 4 + size) !== crc32(bytes))
    throw damaged(name, 'is not what its checksum says');
  return bytes;
}

const ALPHABET =
  '0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#';

/** Five characters are four bytes (Z85). */
function base85(text: string, name: string): Buffer {
  const bytes = Buffer.alloc(Math.floor(text.length / 5) * 4);
  for (let at = 0; at + 5 <= text.length; at += 5) {
    let value = 0;
    for (const character of text.slice(at, at + 5)) {
      const digit = ALPHABET.indexOf(character);
      if (digit === -1) throw damaged(name, 'is no text of base 85');
      value = value * 85 + digit;
    }
    if (value >= 2 ** 32) throw damaged(name, 'is no text of base 85');
    bytes.writeUInt32BE(value, (at / 5) * 4);
  }
  return bytes;
}

function damaged(name: string, what: string): ConnectorError {
  return new ConnectorError('data', `${name} ${what}`, { hint: 'restore the file' });
}
