/** The bytes of an open file, several requests ahead. */
import { ConnectorError, messageOf } from '../errors.ts';
import type { SftpSession } from './sftp-session.ts';

interface Reading {
  readonly session: SftpSession;
  readonly handle: Buffer;
  readonly from: number;
  readonly end: number;
  readonly name: string;
  readonly signal: AbortSignal;
}

const BLOCK = 64 * 1024;
const AHEAD = 16;

export async function* handleBlocks(reading: Reading): AsyncGenerator<Uint8Array> {
  const { end, name, signal } = reading;
  let next = reading.from;
  const ahead: Promise<Buffer>[] = [];
  try {
    for (;;) {
      while (next < end && ahead.length < AHEAD) {
        const block = readBlock(reading, next, Math.min(BLOCK, end - next));
        block.catch(() => {});
        ahead.push(block);
        next += BLOCK;
      }
      const first = ahead.shift();
      if (first === undefined) return;
      const bytes = await first;
      yield bytes;
      // Shorter than it was when it was opened.
      if (bytes.length < BLOCK && (next < end || ahead.length > 0)) return;
    }
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof ConnectorError) throw error;
    throw new ConnectorError(
      'connection',
      `the connection broke off while ${name} was read: ${messageOf(error)}`,
      { cause: error },
    );
  }
}

/** A server may give less than it was asked for. */
async function readBlock(
  { session, handle, signal }: Reading,
  at: number,
  length: number,
): Promise<Buffer> {
  const bytes = Buffer.allocUnsafe(length);
  let filled = 0;
  while (filled < length) {
    const count = await session.call<number>(signal, (done) =>
      session.sftp.read(handle, bytes, filled, length - filled, at + filled, done),
    );
    if (count === 0) break;
    filled += count;
  }
  return bytes.subarray(0, filled);
}
