/** The parts of a rollback that are specific to PostgreSQL. */
import type { ClientBase } from 'pg';
import { jsonText } from '../../../lib/text/json.ts';
import { quoteNames } from '../../../lib/sql/sql-name.ts';
import { TOKEN_TABLE, type RollbackSession } from '../../_sql/driver.ts';
import {
  ROLLBACK_LOG_COLUMNS,
  ROLLBACK_LOG_TABLE,
  noteOf,
  PREVIOUS,
  previousName,
  type Replaced,
} from '../../_sql/rollback-log.ts';
import { insideWindow, type Replacement } from './overwrite.ts';
import { readColumns } from './schema.ts';
import { resetToken } from './tokens.ts';

type Qualified = (table: string) => string;

export function rollbackSession(client: ClientBase, qualified: Qualified): RollbackSession {
  return {
    run: async (sql, values = []) =>
      (await client.query({ text: sql, values: [...values] })).rowCount ?? 0,
    all: async (sql, values = []) =>
      (await client.query<Record<string, unknown>>({ text: sql, values: [...values] })).rows,
    columns: (table) => readColumns(client, qualified(table)),
    async setToken(scope, token) {
      // Without the table no token was ever committed.
      if ((await readColumns(client, qualified(TOKEN_TABLE))) === undefined) return;
      await resetToken(client, qualified(TOKEN_TABLE), scope, token);
    },
  };
}

/** Copies the rows that will be replaced, and deletes the copies of an earlier overwrite. */
export async function logReplaced(
  client: ClientBase,
  { table, name, window }: Replacement,
  { runId, qualified }: { readonly runId: string; readonly qualified: Qualified },
): Promise<void> {
  const logTable = qualified(ROLLBACK_LOG_TABLE);
  const previous = previousName(name);
  const live = await readColumns(client, table);
  await client.query(`DROP TABLE IF EXISTS ${qualified(previous)}`);
  await client.query(`DELETE FROM ${logTable} WHERE table_name = $1 AND key_json = '${PREVIOUS}'`, [
    name,
  ]);
  if (live !== undefined) {
    const columns = quoteNames(live.map((column) => column.name));
    const inside = window === undefined ? undefined : insideWindow(window);
    await client.query(
      `CREATE TABLE ${qualified(previous)} AS SELECT ${columns} FROM ${table} WITH NO DATA`,
    );
    await client.query(
      `INSERT INTO ${qualified(previous)} (${columns}) SELECT ${columns} FROM ${table}${inside === undefined ? '' : ` WHERE ${inside.sql}`}`,
      inside?.bounds,
    );
  }
  const replaced: Replaced = {
    table: previous,
    ...(window === undefined
      ? {}
      : {
          window: { column: window.column, from: jsonText(window.from), to: jsonText(window.to) },
        }),
  };
  await client.query(
    `INSERT INTO ${logTable} (${ROLLBACK_LOG_COLUMNS.join(', ')}) VALUES ($1, $2, '${PREVIOUS}', $3, clock_timestamp())`,
    [runId, name, live === undefined ? null : noteOf(replaced)],
  );
}
