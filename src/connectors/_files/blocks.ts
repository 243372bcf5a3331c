import { open, type FileHandle } from 'node:fs/promises';
import { decompress, type Codec } from './compression.ts';
import { onDisk } from './io-error.ts';

/** How much is read at once; nothing is read ahead of what the consumer asked for. */
export const BLOCK_BYTES = 64 * 1024;

export interface BlockOptions {
  readonly path: string;
  readonly codec: Codec;
  readonly signal: AbortSignal;
  readonly blockBytes?: number;
  /** For a consumer that is through with a block when it asks for the next one: the memory is then used again. */
  readonly borrowed?: boolean;
}

/** The unpacked bytes of a file, block by block. Every block is the consumer's to keep, unless it only borrows them. */
export async function* readBlocks(options: BlockOptions): AsyncGenerator<Uint8Array> {
  const { path, codec, signal } = options;
  signal.throwIfAborted();
  const handle = await onDisk('read', path, () => open(path, 'r'));
  try {
    yield* decompress(storedBlocks(handle, options), codec, path);
  } finally {
    await handle.close();
  }
}

async function* storedBlocks(handle: FileHandle, options: BlockOptions): AsyncGenerator<Uint8Array> {
  const size = options.blockBytes ?? BLOCK_BYTES;
  // A decompressor looks at a block after it has asked for the next one.
  const borrowed = options.borrowed === true && options.codec === 'none' ? Buffer.allocUnsafeSlow(size) : undefined;
  for (;;) {
    options.signal.throwIfAborted();
    const buffer = borrowed ?? Buffer.allocUnsafe(size);
    const { bytesRead } = await onDisk('read', options.path, () => handle.read(buffer, 0, size, null));
    if (bytesRead === 0) return;
    yield buffer.subarray(0, bytesRead);
  }
}
