import { crc32 } from 'node:zlib';
import { ConnectorError, messageOf } from '../../../lib/errors.ts';
import { lazyLibrary } from '../../../lib/lazy.ts';
import { MAX_WHOLE_BYTES } from '../output/whole.ts';

const fflate = lazyLibrary<typeof import('fflate')>('fflate');

/** The files of a ZIP archive whose names `wanted` accepts. Errors show `name`. */
export function unzipFiles(
  bytes: Uint8Array,
  name: string,
  wanted: (file: string) => boolean,
): Map<string, Uint8Array> {
  let total = 0;
  try {
    const checksums = checksumsOf(bytes);
    const expected = new Map<string, number | undefined>();
    let at = 0;
    const files = fflate().unzipSync(bytes, {
      filter(file) {
        const checksum = checksums[at];
        at += 1;
        if (file.name.endsWith('/') || !wanted(file.name)) return false;
        total += file.originalSize;
        if (total > MAX_WHOLE_BYTES) throw tooLarge(name);
        expected.set(file.name, checksum);
        return true;
      },
    });
    for (const [file, content] of Object.entries(files))
      if (crc32(content) !== expected.get(file))
        throw new Error(`its part ${JSON.stringify(file)} is not what its checksum says`);
    return new Map(Object.entries(files));
  } catch (error) {
    if (error instanceof ConnectorError) throw error;
    throw new ConnectorError('data', `${name} is not a valid ZIP archive: ${messageOf(error)}`, {
      cause: error,
      hint: 'the file is damaged or of another kind; get it again from its origin, or name its `format`',
    });
  }
}

const END_RECORD = Buffer.from('PK\u0005\u0006');
const END_RECORD_BYTES = 22;
const LARGE_LOCATOR = 0x07_06_4b_50;
const LARGE_LOCATOR_BYTES = 20;
const ENTRY = 0x02_01_4b_50;
const ENTRY_BYTES = 46;

/** Of all files in the order of the directory; the library does not compare them. */
function checksumsOf({ buffer, byteOffset, byteLength }: Uint8Array): number[] {
  const archive = Buffer.from(buffer, byteOffset, byteLength);
  const end = archive.lastIndexOf(END_RECORD, byteLength - END_RECORD_BYTES);
  if (end === -1) return [];
  let at = archive.readUInt32LE(end + 16);
  const locator = end - LARGE_LOCATOR_BYTES;
  if (locator >= 0 && archive.readUInt32LE(locator) === LARGE_LOCATOR)
    at = Number(archive.readBigUInt64LE(archive.readUInt32LE(locator + 8) + 48));
  const checksums: number[] = [];
  while (at + ENTRY_BYTES <= byteLength && archive.readUInt32LE(at) === ENTRY) {
    checksums.push(archive.readUInt32LE(at + 16));
    const [name, extra, comment] = [28, 30, 32].map((field) => archive.readUInt16LE(at + field));
    at += ENTRY_BYTES + (name ?? 0) + (extra ?? 0) + (comment ?? 0);
  }
  return checksums;
}

/** The first file, or the first whose name matches the pattern (`*` and `?`). */
export function unzipMember(
  bytes: Uint8Array,
  name: string,
  pattern: string | undefined,
): Uint8Array {
  const names: string[] = [];
  const fits = pattern === undefined ? () => true : globTest(pattern);
  let chosen: string | undefined;
  const files = unzipFiles(bytes, name, (file) => {
    names.push(file);
    if (chosen !== undefined || !fits(file)) return false;
    chosen = file;
    return true;
  });
  const found = chosen === undefined ? undefined : files.get(chosen);
  if (found !== undefined) return found;
  const hint = names.length === 0 ? 'it is empty' : `it contains: ${names.slice(0, 10).join(', ')}`;
  throw new ConnectorError(
    'missing',
    `${name} holds no file ${pattern === undefined ? '' : `called \`${pattern}\``}`.trimEnd(),
    { hint },
  );
}

/** A pattern without a slash is compared with the last part of the name only. */
function globTest(pattern: string): (file: string) => boolean {
  const source = pattern
    .replaceAll(/[.+^${}()|[\]\\]/g, String.raw`\$&`)
    .replaceAll('*', '.*')
    .replaceAll('?', '.');
  const expression = new RegExp(`^${source}$`, 's');
  return (file) => expression.test(pattern.includes('/') ? file : (file.split('/').at(-1) ?? file));
}

function tooLarge(name: string): ConnectorError {
  return new ConnectorError(
    'data',
    `${name} is larger than ${MAX_WHOLE_BYTES / (1024 * 1024)} MiB when it is decompressed`,
  );
}
