/** Makes and changes the tables of a history in PostgreSQL; several instances may start at once. */
import type { ClientBase } from 'pg';
import { inPostgresTransaction } from '../../lib/sql/postgres.ts';
import {
  ADDITIONS,
  ledgerOf,
  LEDGERS,
  pendingOf,
  VERSION,
  type Migration,
} from '../sql/migrations/migration.ts';
import { isUnreachable, refusedError, unreachableError } from './presence.ts';
import type { PostgresStore } from './postgres-store.ts';

/** Key of the lock under which tables are changed. */
const CHANGING_TABLES = 7_246_103_553;
/** A table of many rows may be written anew. */
const LONGEST_MS = 3_600_000;

/** Rejects with `HistoryError`. */
export async function migratePostgres(
  store: PostgresStore,
  migrations: readonly Migration[],
  { schema, now }: { readonly schema: string | undefined; readonly now: Date },
): Promise<void> {
  await changeTables(store, async (run) => {
    if (schema !== undefined) await run(`CREATE SCHEMA IF NOT EXISTS ${schema}`);
    await run(LEDGERS);
    const [{ version } = { version: 0 }] = await run<{ version: number }>(VERSION);
    const additions = (await run<{ version: number }>(ADDITIONS)).map((row) => row.version);
    for (const migration of pendingOf(migrations, { version, additions })) {
      if (migration.database !== 'sqlite') await run(postgresText(migration.sql));
      await run(
        `INSERT INTO ${ledgerOf(migration)} (version, name, applied_at) VALUES ($1, $2, $3)`,
        [migration.version, migration.name, now.toISOString()],
      );
    }
  });
}

/** Makes the tables where they are missing. Rejects with `HistoryError`. */
export async function makeTables(store: PostgresStore, tables: string): Promise<void> {
  await changeTables(store, (run) => run(postgresText(tables)));
}

type Run = <R>(text: string, values?: readonly unknown[]) => Promise<readonly R[]>;

async function changeTables(
  store: PostgresStore,
  change: (run: Run) => Promise<unknown>,
): Promise<void> {
  try {
    await store.use((client) =>
      inPostgresTransaction(client, async () => {
        const run = runOn(client);
        await run(`SET LOCAL statement_timeout = ${LONGEST_MS}`);
        await run(`SELECT pg_advisory_xact_lock(${CHANGING_TABLES})`);
        await change(run);
      }),
    );
  } catch (error) {
    throw isUnreachable(error) ? unreachableError(error) : refusedError(error);
  }
}

function runOn(client: ClientBase): Run {
  return async <R>(text: string, values: readonly unknown[] = []) => {
    const patient = { text, values: [...values], query_timeout: LONGEST_MS };
    const { rows } = await client.query(patient);
    return rows as readonly R[];
  };
}

/**
 * Texts are compared byte by byte, as in SQLite, in whatever language the database sorts. A table
 * has its rows in no order of its own.
 */
function postgresText(sql: string): string {
  return sql.replaceAll(/\bTEXT\b/g, 'TEXT COLLATE "C"').replaceAll(/\)\s*WITHOUT ROWID/g, ')');
}
