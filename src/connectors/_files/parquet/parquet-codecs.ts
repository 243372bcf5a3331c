import type { Compressors } from 'hyparquet';
import { brotliDecompressSync, gunzipSync, zstdDecompressSync } from 'node:zlib';
import { MAX_WHOLE_BYTES } from '../output/whole.ts';

/** A page is one piece of memory, and a text in it one string of at most this size. */
const MAX_PAGE_BYTES = MAX_WHOLE_BYTES;
const NO_BYTES = new Uint8Array();

/** How pages are decompressed; those of Node.js are native, and read data of several members. */
export async function pageCodecs(): Promise<Compressors> {
  const { compressors, decompressLz4Raw } = await import('hyparquet-compressors');
  const codecs: Compressors = {
    ...compressors,
    LZ4_RAW: decompressLz4Raw,
    GZIP: (input) => gunzipSync(input),
    BROTLI: (input) => brotliDecompressSync(input),
    ZSTD: (input) => zstdDecompressSync(input),
  };
  return Object.fromEntries(
    Object.entries(codecs).map(([name, decompress]) => [
      name,
      (input: Uint8Array, length: number) => {
        // A page of nulls has no values, and some writers do not compress nothing.
        if (length === 0 || input.length === 0) return NO_BYTES;
        if (length > MAX_PAGE_BYTES) throw new PageTooLarge(length);
        return decompress(input, length);
      },
    ]),
  );
}

export class PageTooLarge extends Error {
  constructor(bytes: number) {
    super(`a page of ${bytes} bytes, where at most ${MAX_PAGE_BYTES} can be read`);
  }
}
