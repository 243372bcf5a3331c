/** Files that a run wrote, as they are now: their size and their SHA-256. */
import { createHash } from 'node:crypto';
import { fileFault } from '../../lib/files/file-fault.ts';
import { openRegular } from '../../lib/files/regular-file.ts';
import type { ReceiptFile } from './receipt.ts';

export type FileToDescribe = Pick<ReceiptFile, 'path' | 'row' | 'dataset_uri'>;

export interface DescribeOptions {
  /** When the run ended; what changed later is not what it wrote. */
  readonly endedAt: string | null;
  /** Bytes that are read of all files together; larger ones are listed without a checksum. */
  readonly mostBytes: number;
  readonly signal: AbortSignal;
}

const BLOCK_BYTES = 1024 * 1024;
/** Clocks of file systems are coarse. */
const SLACK_MS = 2000;

export async function describeFiles(
  files: readonly FileToDescribe[],
  { endedAt, mostBytes, signal }: DescribeOptions,
): Promise<ReceiptFile[]> {
  const described: ReceiptFile[] = [];
  let left = mostBytes;
  for (const file of files) {
    signal.throwIfAborted();
    const found = await describe(file, { endedAt, mostBytes: left, signal });
    if (found.sha256 !== undefined) left -= found.bytes ?? 0;
    described.push(found);
  }
  return described;
}

async function describe(
  file: FileToDescribe,
  { endedAt, mostBytes, signal }: DescribeOptions,
): Promise<ReceiptFile> {
  try {
    await using handle = await openRegular(file.path);
    const { size, mtimeMs } = await handle.stat();
    if (size > mostBytes) return { ...file, bytes: size, note: 'too large to be read for this' };
    const digest = createHash('sha256');
    const buffer = Buffer.allocUnsafe(BLOCK_BYTES);
    let bytes = 0;
    for (;;) {
      signal.throwIfAborted();
      const { bytesRead } = await handle.read({ buffer });
      if (bytesRead === 0) break;
      bytes += bytesRead;
      digest.update(buffer.subarray(0, bytesRead));
    }
    const isLater = endedAt !== null && mtimeMs > Date.parse(endedAt) + SLACK_MS;
    return {
      ...file,
      bytes,
      sha256: digest.digest('hex'),
      ...(isLater ? { note: 'changed after the run had ended' } : {}),
    };
  } catch (error) {
    signal.throwIfAborted();
    return { ...file, note: whyNot(error) };
  }
}

function whyNot(error: unknown): string {
  const { code } = error as NodeJS.ErrnoException;
  return code === 'ENOENT'
    ? 'it is not there any more'
    : `it cannot be read: ${fileFault(error).says}`;
}
