/** The beginning of a file or of what an address answers, decompressed. */
import { createReadStream } from 'node:fs';
import { open } from 'node:fs/promises';
import { Readable, type Transform } from 'node:stream';
import { createGunzip, createZstdDecompress } from 'node:zlib';
import { AppError } from '../../lib/errors.ts';
import { fileFault } from '../../lib/files/file-fault.ts';
import { openRegularSync } from '../../lib/files/regular-file.ts';

/** Enough for types; what comes later may still be different. */
export const SAMPLE_BYTES = 1024 * 1024;

export interface Sample {
  readonly bytes: Buffer;
  /** Whether it is everything. */
  readonly isWhole: boolean;
}

export async function sampleOfFile(path: string, name: string): Promise<Sample> {
  try {
    const file = openRegularSync(path);
    return await beginningOf(createReadStream('', { fd: file }), name);
  } catch (error) {
    throw unreadable(name, error);
  }
}

export async function sampleOfUrl(
  url: string,
  { fetch, signal }: { readonly fetch: typeof globalThis.fetch; readonly signal: AbortSignal },
): Promise<Sample & { readonly contentType: string }> {
  const { origin, pathname } = new URL(url);
  try {
    const answer = await fetch(url, { signal });
    if (!answer.ok || answer.body === null)
      throw new AppError('missing', `the server answered ${answer.status} ${answer.statusText}`);
    const body = Readable.fromWeb(answer.body);
    const contentType = answer.headers.get('content-type') ?? '';
    return { ...(await beginningOf(body, pathname)), contentType };
  } catch (error) {
    // What stands behind the path may hold a key.
    throw unreadable(origin + pathname, error);
  }
}

/** The first bytes, to tell what a file is. */
export async function firstBytes(path: string): Promise<Buffer> {
  const file = await open(path, 'r');
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(16), 0, 16, 0);
    return buffer.subarray(0, bytesRead);
  } finally {
    await file.close();
  }
}

async function beginningOf(stored: Readable, name: string): Promise<Sample> {
  const codec = codecOf(name);
  const text = codec === undefined ? stored : stored.pipe(codec);
  if (codec !== undefined) stored.on('error', (error) => codec.destroy(error));
  const blocks: Buffer[] = [];
  let size = 0;
  for await (const block of text as AsyncIterable<Buffer>) {
    blocks.push(block);
    size += block.length;
    if (size > SAMPLE_BYTES) break;
  }
  stored.destroy();
  return {
    bytes: Buffer.concat(blocks).subarray(0, SAMPLE_BYTES),
    isWhole: size <= SAMPLE_BYTES,
  };
}

function codecOf(name: string): Transform | undefined {
  if (/\.gz$/i.test(name)) return createGunzip();
  return /\.zst$/i.test(name) ? createZstdDecompress() : undefined;
}

function unreadable(name: string, error: unknown): AppError {
  return new AppError('file_unreadable', `${name} cannot be read: ${fileFault(error).says}`, {
    cause: error,
  });
}
