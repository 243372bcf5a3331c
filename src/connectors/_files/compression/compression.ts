import { Readable, pipeline, type Transform } from 'node:stream';
import { createGunzip, createGzip, createZstdCompress, createZstdDecompress } from 'node:zlib';
import { ConnectorError } from '../../../lib/errors.ts';
import type { Log } from '../../../lib/log.ts';
import { codeOf } from '../io-error.ts';
import { alongFrames } from './zstd-frames.ts';

export type Codec = 'none' | 'gzip' | 'zstd';

/** The codec that a file suffix stands for. */
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
 * Unpacks a stream of blocks; several members or frames in a row are one stream. Errors show
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
  const unpacker: Transform = codec === 'zstd' ? createZstdDecompress() : createGunzip();
  // Errors are thrown by the iteration below.
  pipeline(input, unpacker, () => {});
  try {
    for await (const block of unpacker) yield block as Uint8Array;
  } catch (error) {
    throw unpackError(error, codec, name);
  }
}

function unpackError(error: unknown, codec: Codec, name: string): unknown {
  const code = codeOf(error);
  if (error instanceof ConnectorError || code === undefined || !/^(Z_|ZSTD_|ERR_ZSTD)/.test(code))
    return error;
  const cutOff = code === 'Z_BUF_ERROR' || code === 'ZSTD_CUT_OFF';
  const says = cutOff ? `the ${codec} data is cut off` : `it is not valid ${codec} data`;
  return new ConnectorError('data', `cannot read ${name}: ${says}`, { cause: error });
}

/** Packs what is written. `finish` ends the member, and the next `write` starts another. */
export class Compressor {
  readonly #codec: Exclude<Codec, 'none'>;
  #packer: Transform | undefined;
  #packed: Uint8Array[] = [];

  constructor(codec: Exclude<Codec, 'none'>) {
    this.#codec = codec;
  }

  /** Returns the bytes packed so far. */
  async write(bytes: Uint8Array): Promise<Uint8Array[]> {
    this.#packer ??= this.#start();
    const packer = this.#packer;
    await new Promise<void>((resolve, reject) => {
      packer.write(bytes, (error) =>
        error === null || error === undefined ? resolve() : reject(error),
      );
    });
    return this.#take();
  }

  async finish(): Promise<Uint8Array[]> {
    const packer = this.#packer;
    this.#packer = undefined;
    if (packer === undefined) return [];
    await new Promise<void>((resolve, reject) => {
      packer.once('end', resolve);
      packer.once('error', reject);
      packer.end();
    });
    return this.#take();
  }

  #start(): Transform {
    const packer: Transform = this.#codec === 'gzip' ? createGzip() : createZstdCompress();
    // The callback of the failed write reports the error.
    packer.on('error', () => {});
    packer.on('data', (chunk: Uint8Array) => this.#packed.push(chunk));
    return packer;
  }

  #take(): Uint8Array[] {
    const packed = this.#packed;
    this.#packed = [];
    return packed;
  }
}
