import { open, type FileHandle } from 'node:fs/promises';
import { decompress, type Codec } from './compression.ts';
import { onDisk } from './io-error.ts';

/** How much is read at once; borrowed blocks are read ahead by one read. */
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
    const size = options.borrowed === true && codec === 'none' ? await sizeOfPlainFile(handle, path) : undefined;
    if (size !== undefined) yield* borrowedBlocks(handle, size, options);
    // A decompressor still looks at a block when it asks for the next one.
    else yield* decompress(storedBlocks(handle, options), codec, path);
  } finally {
    await handle.close();
  }
}

/** Undefined of a pipe: nothing of it is read that nobody asked for, because such a read might never end. */
async function sizeOfPlainFile(handle: FileHandle, path: string): Promise<number | undefined> {
  const entry = await onDisk('read', path, () => handle.stat());
  return entry.isFile() ? entry.size : undefined;
}

async function* storedBlocks(handle: FileHandle, options: BlockOptions): AsyncGenerator<Uint8Array> {
  const size = options.blockBytes ?? BLOCK_BYTES;
  for (;;) {
    options.signal.throwIfAborted();
    const buffer = Buffer.allocUnsafe(size);
    const { bytesRead } = await onDisk('read', options.path, () => handle.read(buffer, 0, size, null));
    if (bytesRead === 0) return;
    yield buffer.subarray(0, bytesRead);
  }
}

/** Asking the system costs more than the copy: this many blocks are read at once. */
const BLOCKS_A_READ = 4;
/** A file that grows while it is read, or does not know its size (`/proc`), is read in pieces of this size at least. */
const SMALLEST_READ = 4096;

/** One buffer is read into while the consumer works on the other; small ones for a small file, which cost the collector of garbage less. */
async function* borrowedBlocks(handle: FileHandle, fileBytes: number, options: BlockOptions): AsyncGenerator<Uint8Array> {
  const size = options.blockBytes ?? BLOCK_BYTES;
  const room = Math.min(size * BLOCKS_A_READ, Math.max(fileBytes, SMALLEST_READ));
  const read = async (buffer: Buffer<ArrayBuffer>): Promise<Buffer<ArrayBuffer>> => {
    const { bytesRead } = await onDisk('read', options.path, () => handle.read(buffer, 0, buffer.length, null));
    return buffer.subarray(0, bytesRead);
  };
  let spare = Buffer.allocUnsafeSlow(room);
  let next = read(Buffer.allocUnsafeSlow(room));
  try {
    for (;;) {
      options.signal.throwIfAborted();
      const bytes = await next;
      if (bytes.length === 0) return;
      next = read(spare);
      // A failure is told when its turn comes; until then it must not count as unhandled.
      next.catch(() => {});
      spare = Buffer.from(bytes.buffer);
      for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
    }
  } finally {
    await next.catch(() => {});
  }
}
