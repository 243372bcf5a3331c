/**
 * Reads a result through a cursor on the server, so that only a few pages of it are in memory here.
 */
import type { CustomTypesConfig, FieldDef } from 'pg';
import { refuseEqualNames } from '../_sql/equal-names.ts';
import { CURSOR, type Connection } from './connection.ts';

export type RawRow = readonly (string | null)[];

export interface RawChunk {
  readonly fields: readonly FieldDef[];
  readonly rows: readonly RawRow[];
  /** Size of the values of each row, in characters. */
  readonly sizes: readonly number[];
  readonly size: number;
}

const FIRST_FETCH = 200;
/** The client waits a little longer than the server's own timeout. */
const GRACE_MS = 5000;
const RAW: CustomTypesConfig = { getTypeParser: () => (text: string) => text };

/** Chunks of the declared query in order, of at most `most` rows and about `bytes` bytes. */
export async function* cursorChunks(
  connection: Connection,
  bounds: { readonly most: number; readonly bytes: number },
): AsyncGenerator<RawChunk, void> {
  let size = Math.min(FIRST_FETCH, bounds.most);
  let next = connection.ask(() => fetchRows(connection, size));
  let isChecked = false;
  for (;;) {
    const chunk = await next;
    if (!isChecked) refuseEqualNames(chunk.fields.map(({ name }) => name));
    isChecked = true;
    if (chunk.rows.length > 0 && chunk.rows.length === size) {
      size = nextSize(chunk, bounds);
      // The server works on the next rows while these are processed.
      next = connection.ask(() => fetchRows(connection, size));
      next.catch(() => {});
      yield chunk;
      continue;
    }
    await connection.ask(() => connection.client.query('COMMIT'));
    if (chunk.rows.length > 0) yield chunk;
    return;
  }
}

/** The columns of the declared query; nothing is read yet. */
export async function describeCursor(connection: Connection): Promise<readonly FieldDef[]> {
  const { fields } = await connection.ask(() => fetchRows(connection, 0));
  refuseEqualNames(fields.map(({ name }) => name));
  return fields;
}

async function fetchRows({ client, timeoutSecs }: Connection, count: number): Promise<RawChunk> {
  const { fields, rows } = await client.query<(string | null)[]>({
    text: `FETCH FORWARD ${count} FROM ${CURSOR}`,
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

/** The number of rows that fit the bytes, estimated from the rows just seen. */
function nextSize(chunk: RawChunk, { most, bytes }: { most: number; bytes: number }): number {
  const average = Math.max(1, chunk.size / chunk.rows.length);
  return Math.max(1, Math.min(most, Math.floor(bytes / average)));
}
