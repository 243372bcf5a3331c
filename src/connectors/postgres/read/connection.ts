/**
 * The one connection of a source: its statements end with the signal, and closing it leaves none
 * running.
 */
import type { Client } from 'pg';
import { cancelStatement, connectPostgres, postgresError } from '../../../lib/sql/postgres.ts';
import { untilAborted } from '../../../lib/sql/until-aborted.ts';
import type { Statement } from './query.ts';

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

/**
 * Begins the transaction for reading and declares the query in it. Only statements that a cursor
 * can read are ever run.
 */
export async function declareQuery(
  { client, timeoutSecs }: Connection,
  { sql, values }: Statement,
): Promise<void> {
  // A slow sink may leave the transaction idle for long; it must not be ended for that.
  await client.query(`BEGIN;
    SET LOCAL TimeZone = 'UTC'; SET LOCAL DateStyle = 'ISO, YMD'; SET LOCAL IntervalStyle = 'iso_8601'; SET LOCAL bytea_output = 'hex';
    SET LOCAL extra_float_digits = 1; SET LOCAL idle_in_transaction_session_timeout = 0;
    SET LOCAL statement_timeout = ${timeoutSecs * 1000}`);
  // The extended protocol refuses a second statement after the query.
  const extended = { queryMode: 'extended' };
  await client.query({
    text: `DECLARE ${CURSOR} NO SCROLL CURSOR FOR ${sql}`,
    values: [...values],
    ...extended,
  });
}
