import { ConnectorError, messageOf } from '../errors.ts';

/** The bytes of a response. A connection that breaks off is told as one. */
export async function* blocksOf(
  body: AsyncIterable<unknown>,
  { name, signal }: { readonly name: string; readonly signal: AbortSignal },
): AsyncGenerator<Uint8Array> {
  try {
    for await (const block of body) {
      signal.throwIfAborted();
      yield block as Uint8Array;
    }
    // What is stopped may end as if it were whole.
    signal.throwIfAborted();
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
