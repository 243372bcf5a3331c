/** Reads a result through a cursor on the server, so that only a few pages of it are ever here. */
import type { Client, CustomTypesConfig, FieldDef } from 'pg';
import { cancelStatement, connectPostgres, postgresError, untilAborted } from '../../lib/postgres.ts';
import type { Statement } from './query.ts';

export type RawRow = readonly (string | null)[];

export interface RawChunk {
  readonly fields: readonly FieldDef[];
  readonly rows: readonly RawRow[];
  /** Size of the values of each row, in characters. */
  readonly sizes: readonly number[];
  readonly size: number;
}

export interface Cursor {
  /** Chunks in order, of at most `most` rows and about `bytes` bytes. */
  chunks(statement: Statement, bounds: { readonly most: number; readonly bytes: number }): AsyncGenerator<RawChunk, void>;
  close(): Promise<void>;
}

export interface CursorOptions {
  readonly url: string;
  /** 0 waits forever. */
  readonly timeoutSecs: number;
  readonly signal: AbortSignal;
}

const FIRST_FETCH = 200;
/** The client gives up a little after the server should have. */
const GRACE_MS = 5000;
const RAW: CustomTypesConfig = { getTypeParser: () => (text: string) => text };

export async function openCursor({ url, timeoutSecs, signal }: CursorOptions): Promise<Cursor> {
  const client = await connectPostgres({ url, signal });
  let working: Promise<unknown> | undefined;

  const ask = async <T>(work: () => Promise<T>): Promise<T> => {
    signal.throwIfAborted();
    const current = work();
    working = current;
    try {
      return await untilAborted(current, { signal, cancel: () => cancelStatement(client, current) });
    } catch (error) {
      throw signal.aborted ? error : postgresError(error, 'the query failed');
    } finally {
      working = undefined;
    }
  };

  return {
    async *chunks(statement, bounds) {
      await ask(() => declare(client, statement, timeoutSecs));
      let size = Math.min(FIRST_FETCH, bounds.most);
      let next = ask(() => fetchRows(client, size, timeoutSecs));
      for (;;) {
        const chunk = await next;
        if (chunk.rows.length > 0 && chunk.rows.length === size) {
          size = nextSize(chunk, bounds);
          // The server works on the next rows while these are processed.
          next = ask(() => fetchRows(client, size, timeoutSecs));
          next.catch(() => {});
          yield chunk;
          continue;
        }
        await ask(() => client.query('COMMIT'));
        if (chunk.rows.length > 0) yield chunk;
        return;
      }
    },
    async close() {
      if (working !== undefined) await cancelStatement(client, working);
      await client.end().catch(() => {});
    },
  };
}

async function declare(client: Client, { sql, values }: Statement, timeoutSecs: number): Promise<void> {
  // A slow sink may leave the transaction idle for long; that is no reason to end it.
  await client.query(`BEGIN;
    SET LOCAL TimeZone = 'UTC'; SET LOCAL DateStyle = 'ISO, YMD'; SET LOCAL IntervalStyle = 'iso_8601'; SET LOCAL bytea_output = 'hex';
    SET LOCAL extra_float_digits = 1; SET LOCAL idle_in_transaction_session_timeout = 0;
    SET LOCAL statement_timeout = ${timeoutSecs * 1000}`);
  await client.query({ text: `DECLARE svc_cursor NO SCROLL CURSOR FOR ${sql}`, values: [...values] });
}

async function fetchRows(client: Client, count: number, timeoutSecs: number): Promise<RawChunk> {
  const { fields, rows } = await client.query<(string | null)[]>({
    text: `FETCH FORWARD ${count} FROM svc_cursor`,
    rowMode: 'array',
    types: RAW,
    ...(timeoutSecs === 0 ? {} : { query_timeout: timeoutSecs * 1000 + GRACE_MS }),
  });
  const sizes = rows.map(sizeOf);
  return { fields, rows, sizes, size: sizes.reduce((sum, size) => sum + size, 0) };
}

function sizeOf(row: RawRow): number {
  let size = 0;
  for (const value of row) size += value === null ? 4 : value.length;
  return size;
}

/** As many rows as fit the bytes, going by the rows just seen. */
function nextSize(chunk: RawChunk, { most, bytes }: { most: number; bytes: number }): number {
  const average = Math.max(1, chunk.size / chunk.rows.length);
  return Math.max(1, Math.min(most, Math.floor(bytes / average)));
}
