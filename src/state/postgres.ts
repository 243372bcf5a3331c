import type { Pool } from 'pg';
import { z } from 'zod';
import { closedInTime } from '../lib/closed-in-time.ts';
import { ConnectorError } from '../lib/errors.ts';
import { parseJson, stringifyJson, type JsonObject } from '../lib/text/json.ts';
import { openPostgresPool, postgresUrlFault, withClient } from '../lib/sql/postgres.ts';
import { quoteName } from '../lib/sql/sql-name.ts';
import { boolean, finding, integer, text } from '../kit/schema.ts';
import {
  defineStateStore,
  LEASE_PREFIX,
  NO_LEASE,
  sortedEntries,
  type StateStore,
} from '../kit/state-store.ts';
import { tableName } from './table-name.ts';

const config = z.lazy(() =>
  z.strictObject({
    url: text()
      .superRefine((url, ctx) => {
        const fault = postgresUrlFault(url);
        if (fault !== undefined) ctx.addIssue(finding('invalid_value', fault));
      })
      .meta({
        description: 'Address of the database: `postgres://user:password@host:port/database`.',
        secret: true,
        examples: ['${env:STATE_URL}'],
      }),
    table: tableName(),
    ensure_table: boolean()
      .default(false)
      .meta({ description: 'Make the table when it does not exist.' }),
    max_connections: integer({ min: 1, max: 1000 })
      .default(5)
      .meta({ description: 'Upper bound of open connections.', advanced: true }),
  }),
);

export const postgresState = defineStateStore<z.output<typeof config>>({
  type: 'postgres',
  description: 'Bookmarks in a table of a PostgreSQL database.',
  config,
  durable: true,
  examples: [{ url: 'postgres://writer:secret@db.example:5432/control', ensure_table: true }],
  open: async ({ url, table, ensure_table, max_connections }, { signal }) => {
    const pool = await openPostgresPool({ url, max: max_connections, time: { secs: ANSWER_SECS } });
    const name = quoteName(table);
    try {
      await withClient(
        pool,
        { doing: `the state table \`${table}\` cannot be used`, signal },
        (client) => client.query(ensure_table ? createTable(name) : `SELECT FROM ${name} LIMIT 0`),
      );
      return openTable({ pool, signal }, name);
    } catch (error) {
      await closedInTime(() => pool.end());
      throw ensure_table ? error : withAdvice(error, table);
    }
  },
});

function withAdvice(error: unknown, table: string): unknown {
  if (!(error instanceof ConnectorError) || error.kind !== 'missing') return error;
  return new ConnectorError('missing', `the state table \`${table}\` does not exist`, {
    hint: 'set `ensure_table: true` in the `config` of the state, and it is made',
    cause: error,
  });
}

/** Two runs may make the table at once; the lock lets the slower one find it made. */
function createTable(table: string): string {
  return `BEGIN; SELECT pg_advisory_xact_lock(hashtext('headgate state table'));
    CREATE TABLE IF NOT EXISTS ${table} (key text PRIMARY KEY, value jsonb NOT NULL, updated_at timestamptz NOT NULL DEFAULT now()); COMMIT`;
}

/** Each statement is about one line of a small table. */
const ANSWER_SECS = 60;

interface Connection {
  readonly pool: Pool;
  readonly signal: AbortSignal;
}

const REMAINING_MS = `(held.value ->> 'ttl_ms')::float8
  - extract(epoch FROM clock_timestamp() - held.updated_at)::float8 * 1000`;

function openTable({ pool, ...lend }: Connection, table: string): StateStore {
  return {
    get: (key) =>
      withClient(pool, { ...lend, doing: 'the state cannot be read' }, async (client) => {
        const { rows } = await client.query<{ value: string }>(
          `SELECT value::text AS value FROM ${table} WHERE key = $1`,
          [key],
        );
        return rows[0] === undefined ? undefined : parseJson(rows[0].value);
      }),
    put: (key, value) =>
      withClient(pool, { ...lend, doing: 'the state cannot be written' }, async (client) => {
        await client.query(
          `INSERT INTO ${table} (key, value, updated_at) VALUES ($1, $2, now())
           ON CONFLICT (key) DO UPDATE SET value = excluded.value, updated_at = excluded.updated_at`,
          [key, stringifyJson(value)],
        );
      }),
    putHeld: (key, value, { lease, token }) =>
      withClient(pool, { ...lend, doing: 'the state cannot be written' }, async (client) => {
        // Whoever takes the lease over waits for this write, or this one finds that it did.
        const { rowCount } = await client.query(
          `WITH held AS (SELECT 1 FROM ${table} WHERE key = $3 AND value ->> 'token' = $4 FOR SHARE)
           INSERT INTO ${table} (key, value, updated_at) SELECT $1, $2::jsonb, now() FROM held
           ON CONFLICT (key) DO UPDATE SET value = excluded.value, updated_at = excluded.updated_at`,
          [key, stringifyJson(value), LEASE_PREFIX + lease, token],
        );
        return rowCount === 1;
      }),
    delete: (key) =>
      withClient(pool, { ...lend, doing: 'the state cannot be deleted' }, async (client) => {
        await client.query(`DELETE FROM ${table} WHERE key = $1`, [key]);
      }),
    deleteHeld: (key, { lease, token }) =>
      withClient(pool, { ...lend, doing: 'the state cannot be deleted' }, async (client) => {
        const { rowCount } = await client.query(
          `WITH held AS (SELECT 1 FROM ${table} WHERE key = $2 AND value ->> 'token' = $3 FOR SHARE),
           gone AS (DELETE FROM ${table} WHERE key = $1 AND EXISTS (SELECT 1 FROM held))
           SELECT 1 FROM held`,
          [key, LEASE_PREFIX + lease, token],
        );
        return rowCount === 1;
      }),
    entries: (key) =>
      withClient(pool, { ...lend, doing: 'the state cannot be read' }, async (client) => {
        const { rows } = await client.query<{ key: string; at: Date }>(
          `SELECT key, updated_at AS at FROM ${table} WHERE key = $1 OR left(key, length($2)) = $2`,
          [key, `${key}::`],
        );
        return sortedEntries(rows);
      }),
    lease: (key, { token, ttlMs, holder, instead = token, renews }) =>
      withClient(pool, { ...lend, doing: 'the state cannot be leased' }, async (client) => {
        // The clock of the server decides: those of the machines may differ.
        const value = stringifyJson({ token, holder, ttl_ms: ttlMs });
        if (renews)
          await client.query(
            `UPDATE ${table} SET value = $2, updated_at = clock_timestamp() WHERE key = $1 AND value ->> 'token' = $3`,
            [LEASE_PREFIX + key, value, token],
          );
        else
          await client.query(
            `INSERT INTO ${table} AS held (key, value, updated_at) VALUES ($1, $2, clock_timestamp())
             ON CONFLICT (key) DO UPDATE SET value = excluded.value, updated_at = excluded.updated_at
             WHERE held.value ->> 'token' IN ($3, $4) OR ${REMAINING_MS} <= 0`,
            [LEASE_PREFIX + key, value, token, instead],
          );
        const { rows } = await client.query<{ token: string; holder: string; ms: string }>(
          `SELECT value ->> 'token' AS token, (value -> 'holder')::text AS holder, ${REMAINING_MS} AS ms
           FROM ${table} AS held WHERE key = $1`,
          [LEASE_PREFIX + key],
        );
        const [row] = rows;
        // It was given back in between: whoever asks again gets it.
        if (row === undefined) return NO_LEASE;
        return {
          token: row.token,
          holder: parseJson(row.holder) as JsonObject,
          remainingMs: Number(row.ms),
        };
      }),
    release: (key, token) =>
      withClient(pool, { ...lend, doing: 'the lease cannot be given back' }, async (client) => {
        await client.query(`DELETE FROM ${table} WHERE key = $1 AND value ->> 'token' = $2`, [
          LEASE_PREFIX + key,
          token,
        ]);
      }),
    close: () => closedInTime(() => pool.end()),
  };
}
