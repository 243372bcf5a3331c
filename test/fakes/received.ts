import type { IncomingMessage } from 'node:http';

/** The whole body of a request, or nothing where the client went away before its end. */
export async function received(message: IncomingMessage): Promise<Buffer | undefined> {
  const parts: Buffer[] = [];
  try {
    for await (const part of message) parts.push(part as Buffer);
  } catch {
    return undefined;
  }
  return Buffer.concat(parts);
}
