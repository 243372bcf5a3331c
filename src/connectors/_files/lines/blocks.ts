import { OpenFile } from '../../../lib/files/open-file.ts';
import { decompress, type Codec } from '../compression/compression.ts';
import { onDisk } from '../io-error.ts';

/** Size of a block. Borrowed blocks are read one read ahead. */
export const BLOCK_BYTES = 64 * 1024;

export interface BlockOptions {
  readonly path: string;
  readonly codec: Codec;
  readonly signal: AbortSignal;
  readonly blockBytes?: number;
  /**
   * For a consumer that no longer needs a block when it requests the next one: the memory is then
   * reused.
   */
  readonly borrowed?: boolean;
}

/**
 * The decompressed bytes of a file, block by block. The consumer may keep every block unless it only
 * borrows them.
 */
export async function* readBlocks(options: BlockOptions): AsyncGenerator<Uint8Array> {
  const { path, codec, signal } = options;
  signal.throwIfAborted();
  const file = await onDisk('read', path, () => OpenFile.open(path, 'r'));
  try {
    // A pipe is not read ahead, because such a read might never end.
    if (options.borrowed === true && codec === 'none' && file.stat().isFile())
      yield* borrowedBlocks(file, options);
    // A decompressor still uses a block when it requests the next one.
    else yield* decompress(storedBlocks(file, options), codec, path);
  } finally {
    file.closeNow();
  }
}

async function* storedBlocks(file: OpenFile, options: BlockOptions): AsyncGenerator<Uint8Array> {
  const size = options.blockBytes ?? BLOCK_BYTES;
  for (;;) {
    options.signal.throwIfAborted();
    const buffer = Buffer.allocUnsafe(size);
    const length = await onDisk('read', options.path, () => file.read(buffer));
    if (length === 0) return;
    yield buffer.subarray(0, length);
  }
}

/** A system call costs more than the copy: this many blocks are read at once. */
const BLOCKS_A_READ = 4;
/**
 * A file that grows while it is read, or that does not report its size (`/proc`), is read in pieces
 * of at least this size.
 */
const SMALLEST_READ = 4096;

/**
 * One buffer is filled while the consumer works on the other. A small file gets small buffers,
 * which cost the garbage collector less.
 */
async function* borrowedBlocks(file: OpenFile, options: BlockOptions): AsyncGenerator<Uint8Array> {
  const size = options.blockBytes ?? BLOCK_BYTES;
  const room = Math.min(size * BLOCKS_A_READ, Math.max(file.stat().size, SMALLEST_READ));
  let at = 0;
  const read = async (buffer: Buffer<ArrayBuffer>): Promise<Buffer<ArrayBuffer>> => {
    // The end of a file with a known size is found without an additional empty read.
    const length =
      at > 0 && at === file.stat().size
        ? 0
        : await onDisk('read', options.path, () => file.read(buffer));
    at += length;
    return buffer.subarray(0, length);
  };
  let spare = Buffer.allocUnsafeSlow(room);
  let next = read(Buffer.allocUnsafeSlow(room));
  try {
    for (;;) {
      options.signal.throwIfAborted();
      const bytes = await next;
      if (bytes.length === 0) return;
      next = read(spare);
      // The error is thrown when this read is awaited; until then it must not count as unhandled.
      next.catch(() => {});
      spare = Buffer.from(bytes.buffer);
      for (let from = 0; from < bytes.length; from += size) yield bytes.subarray(from, from + size);
    }
  } finally {
    await next.catch(() => {});
  }
}
