/**
 * The one connection of a source: its statements end with the signal, and closing it leaves none
 * running.
 */
import type { Client } from 'pg';
import { cancelStatement, connectPostgres, postgresError } from '../../lib/sql/postgres.ts';
import { untilAborted } from '../../lib/sql/until-aborted.ts';

export interface Connection {
  readonly client: Client;
  /** The longest wait for the next rows; 0 waits forever. */
  readonly timeoutSecs: number;
  readonly signal: AbortSignal;
  /** Runs one task on the server; it is cancelled there when the signal fires. */
  ask<T>(work: () => Promise<T>): Promise<T>;
  /** What `close` must end first; `undefined` when there is nothing to end. */
  busyWith(end: (() => Promise<void>) | undefined): void;
  close(): Promise<void>;
}

export interface ConnectionOptions {
  readonly url: string;
  readonly timeoutSecs: number;
  readonly signal: AbortSignal;
}

export const CURSOR = 'svc_cursor';

export async function openConnection({
  url,
  timeoutSecs,
  signal,
}: ConnectionOptions): Promise<Connection> {
  const client = await connectPostgres({ url, signal, bulk: true });
  let working: Promise<unknown> | undefined;
  let endFirst: (() => Promise<void>) | undefined;
  return {
    client,
    timeoutSecs,
    signal,
    async ask(work) {
      signal.throwIfAborted();
      const current = work();
      working = current;
      try {
        return await untilAborted(current, {
          signal,
          cancel: () => cancelStatement(client, current),
        });
      } catch (error) {
        throw signal.aborted ? error : postgresError(error, 'the query failed');
      } finally {
        working = undefined;
      }
    },
    busyWith(end) {
      endFirst = end;
    },
    async close() {
      await endFirst?.();
      if (working !== undefined) await cancelStatement(client, working);
      await client.end().catch(() => {});
    },
  };
}
