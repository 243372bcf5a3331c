/** The compressions of the blocks of an Avro file, by the names that its header has for them. */
import {
  crc32,
  deflateRawSync,
  inflateRawSync,
  zstdCompressSync,
  zstdDecompressSync,
} from 'node:zlib';
import { ConnectorError } from '../../../lib/errors.ts';
import { lazyLibrary } from '../../../lib/lazy.ts';
import { MAX_WHOLE_BYTES } from '../output/whole.ts';

export const AVRO_CODECS = ['null', 'deflate', 'snappy', 'zstd'] as const;
export type AvroCodec = (typeof AVRO_CODECS)[number];

export type Decompress = (compressed: Buffer) => Buffer | Promise<Buffer>;
export type Compress = (block: Buffer) => Buffer;

const READ = ['null', 'deflate', 'snappy', 'zstandard', 'bzip2', 'xz'];
const LIMIT = { maxOutputLength: MAX_WHOLE_BYTES };
const CHECKSUM_BYTES = 4;

export async function decompressorOf(codec: string, file: string): Promise<Decompress> {
  switch (codec) {
    case 'null':
      return (block) => block;
    case 'deflate':
      return (block) => inflateRawSync(block, LIMIT);
    case 'zstandard':
      return (block) => zstdDecompressSync(block, LIMIT);
    case 'snappy':
      return unpackSnappy();
    case 'bzip2': {
      const { default: bzip2 } = await import('seek-bzip');
      return (block) => bzip2.decode(block);
    }
    case 'xz':
      return unpackXz();
    default:
      throw new ConnectorError(
        'data',
        `cannot read ${file} as Avro: its compression ${JSON.stringify(codec)} is not available`,
        { hint: `write it with one of: ${READ.join(', ')}` },
      );
  }
}

async function unpackSnappy(): Promise<Decompress> {
  const { compressors } = await import('hyparquet-compressors');
  return (block) => {
    const compressed = block.subarray(0, -CHECKSUM_BYTES);
    const length = snappyLength(compressed);
    if (length > MAX_WHOLE_BYTES) throw tooLarge();
    const bytes = Buffer.from(compressors.SNAPPY?.(compressed, length) ?? []);
    if (block.length < CHECKSUM_BYTES || crc32(bytes) !== block.readUInt32BE(compressed.length))
      throw new ConnectorError('data', 'is not what its checksum says');
    return bytes;
  };
}

/** Snappy data starts with its decompressed length, seven bits a byte. */
function snappyLength(bytes: Uint8Array): number {
  let length = 0;
  for (let at = 0; at < 5; at += 1) {
    const byte = bytes[at] ?? 0;
    length += (byte & 0x7f) * 2 ** (7 * at);
    if (byte < 0x80) break;
  }
  return length;
}

/** The package says that it exports names, but it is CommonJS, of which Node finds none. */
const xz = lazyLibrary<typeof import('xz-decompress')>('xz-decompress');

function unpackXz(): Decompress {
  const { XzReadableStream } = xz();
  return async (block) => {
    const parts: Uint8Array[] = [];
    let length = 0;
    for await (const part of new XzReadableStream(new Blob([new Uint8Array(block)]).stream())) {
      length += part.length;
      if (length > MAX_WHOLE_BYTES) throw tooLarge();
      // The library writes the next part into the same memory.
      parts.push(part.slice());
    }
    return Buffer.concat(parts, length);
  };
}

/** Said of the block. */
function tooLarge(): ConnectorError {
  return new ConnectorError('data', 'is too large for the memory');
}

/** How blocks are written, and the name of the codec in the header. */
export async function compressorOf(
  codec: AvroCodec,
): Promise<{ readonly name: string; readonly compress: Compress }> {
  switch (codec) {
    case 'null':
      return { name: codec, compress: (block) => block };
    case 'deflate':
      return { name: codec, compress: (block) => deflateRawSync(block) };
    case 'zstd':
      return { name: 'zstandard', compress: (block) => zstdCompressSync(block) };
    case 'snappy': {
      const { snappyCompress } = await import('hyparquet-writer/src/snappy.js');
      const compress: Compress = (block) => {
        const checksum = Buffer.alloc(CHECKSUM_BYTES);
        checksum.writeUInt32BE(crc32(block));
        return Buffer.concat([snappyCompress(block), checksum]);
      };
      return { name: codec, compress };
    }
    default:
      return codec satisfies never;
  }
}
