import { Readable, pipeline, type Transform } from 'node:stream';
import { createGunzip, createGzip, createZstdCompress, createZstdDecompress } from 'node:zlib';
import { ConnectorError } from '../../../lib/errors.ts';
import type { Log } from '../../../lib/log.ts';
import { codeOf } from '../../../lib/files/file-fault.ts';
import { alongFrames } from './zstd-frames.ts';

export type Codec = 'none' | 'gzip' | 'zstd';

/** The codec that a file suffix means. */
export function codecOfName(name: string): Codec {
  const lower = name.toLowerCase();
  if (lower.endsWith('.gz')) return 'gzip';
  return lower.endsWith('.zst') ? 'zstd' : 'none';
}

/** The codec to use. Logs one warning when the configured codec contradicts the suffix. */
export function chooseCodec(configured: Codec | 'auto', name: string, log: Log): Codec {
  const bySuffix = codecOfName(name);
  if (configured === 'auto') return bySuffix;
  if (configured !== bySuffix && bySuffix !== 'none') {
    log.warn('the compression differs from what the suffix says', {
      path: name,
      compression: configured,
    });
  }
  return configured;
}

/** A path without the suffix of its compression. */
export function withoutCodecSuffix(name: string): string {
  return name.replace(/\.(gz|zst)$/i, '');
}

/**
 * Decompresses a stream of blocks; several members or frames in a row are one stream. Errors show
 * `name`.
 */
export async function* decompress(
  blocks: AsyncIterable<Uint8Array>,
  codec: Codec,
  name: string,
): AsyncGenerator<Uint8Array> {
  if (codec === 'none') {
    yield* blocks;
    return;
  }
  const input = Readable.from(codec === 'zstd' ? alongFrames(blocks) : blocks, {
    objectMode: true,
    highWaterMark: 1,
  });
  const decompressor: Transform = codec === 'zstd' ? createZstdDecompress() : createGunzip();
  // Errors are thrown by the iteration below.
  pipeline(input, decompressor, () => {});
  try {
    for await (const block of decompressor) yield block as Uint8Array;
  } catch (error) {
    throw decompressionError(error, codec, name);
  }
}

function decompressionError(error: unknown, codec: Codec, name: string): unknown {
  const code = codeOf(error);
  if (error instanceof ConnectorError || code === undefined || !/^(Z_|ZSTD_|ERR_ZSTD)/.test(code))
    return error;
  const cutOff = code === 'Z_BUF_ERROR' || code === 'ZSTD_CUT_OFF';
  const says = cutOff ? `the ${codec} data is cut off` : `it is not valid ${codec} data`;
  return new ConnectorError('data', `cannot read ${name}: ${says}`, {
    cause: error,
    hint: cutOff
      ? 'get the file again from its origin'
      : 'get the file again from its origin, or say with `compression` how it is compressed',
  });
}

/** Compresses what is written. `finish` ends the member, and the next `write` starts another. */
export class Compressor {
  readonly #codec: Exclude<Codec, 'none'>;
  #compressor: Transform | undefined;
  #compressed: Uint8Array[] = [];

  constructor(codec: Exclude<Codec, 'none'>) {
    this.#codec = codec;
  }

  /** Returns the bytes compressed so far. */
  async write(bytes: Uint8Array): Promise<Uint8Array[]> {
    this.#compressor ??= this.#start();
    const compressor = this.#compressor;
    await new Promise<void>((resolve, reject) => {
      compressor.write(bytes, (error) =>
        error === null || error === undefined ? resolve() : reject(error),
      );
    });
    return this.#take();
  }

  async finish(): Promise<Uint8Array[]> {
    const compressor = this.#compressor;
    this.#compressor = undefined;
    if (compressor === undefined) return [];
    await new Promise<void>((resolve, reject) => {
      compressor.once('end', resolve);
      compressor.once('error', reject);
      compressor.end();
    });
    return this.#take();
  }

  #start(): Transform {
    const compressor: Transform = this.#codec === 'gzip' ? createGzip() : createZstdCompress();
    // The callback of the failed write reports the error.
    compressor.on('error', () => {});
    compressor.on('data', (chunk: Uint8Array) => this.#compressed.push(chunk));
    return compressor;
  }

  #take(): Uint8Array[] {
    const compressed = this.#compressed;
    this.#compressed = [];
    return compressed;
  }
}
