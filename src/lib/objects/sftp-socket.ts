/** A socket to an SSH server that has said who it is. */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

/** RFC 4253, section 4.2: lines of any text may come before it. */
const IDENTIFICATION = /^SSH-[^\n]*\n/m;
/** A server that has said this much without naming itself speaks something else. */
const MOST_BYTES = 64 * 1024;

/**
 * Connects, and waits until the line by which the server identifies itself has come whole: `ssh2` loses
 * bytes of a line that comes in three pieces or more, and then finds the server's signature wrong.
 * Nothing is taken from the socket. Rejects as the socket does, and after `timeoutMs`.
 */
export async function identifiedSocket(
  host: string,
  port: number,
  timeoutMs: number,
): Promise<Socket> {
  const signal = AbortSignal.timeout(timeoutMs);
  const socket = connect({ host, port });
  // Small packets of a conversation would wait 40 ms for the answer to the one before.
  socket.setNoDelay(true);
  try {
    await once(socket, 'connect', { signal });
    let said = Buffer.alloc(0);
    while (!IDENTIFICATION.test(said.toString('latin1')) && said.length < MOST_BYTES) {
      const bytes = socket.read() as Buffer | null;
      if (bytes !== null) said = Buffer.concat([said, bytes]);
      else if (socket.readableEnded) break;
      else await readable(socket, signal);
    }
    if (said.length > 0) socket.unshift(said);
    return socket;
  } catch (error) {
    socket.destroy();
    if (signal.aborted) throw timedOut(timeoutMs, error);
    throw error;
  }
}

/** Ends at the end of the stream too. */
async function readable(socket: Socket, timeout: AbortSignal): Promise<void> {
  const over = new AbortController();
  const signal = AbortSignal.any([timeout, over.signal]);
  const events = ['readable', 'end'].map((name) => once(socket, name, { signal }));
  try {
    await Promise.race(events);
  } finally {
    over.abort();
    await Promise.allSettled(events);
  }
}

function timedOut(timeoutMs: number, cause: unknown): Error {
  return Object.assign(
    new Error(`the server did not identify itself within ${timeoutMs / 1000} s`, { cause }),
    { level: 'client-timeout' },
  );
}
