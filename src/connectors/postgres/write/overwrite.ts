import type { ClientBase } from 'pg';
import { ConnectorError } from '../../../lib/errors.ts';
import { jsonText, type JsonValue } from '../../../lib/text/json.ts';
import { quoteName, quoteNames } from '../../../lib/sql/sql-name.ts';
import { readColumns } from './schema.ts';

export interface Replacement {
  /** Quoted and qualified. */
  readonly table: string;
  /** The bare name of the table. */
  readonly name: string;
  readonly staging: string;
  readonly window?:
    | { readonly column: string; readonly from: JsonValue; readonly to: JsonValue }
    | undefined;
}

/** Replaces the old rows by the staged ones; runs inside a transaction. */
export async function replaceRows(
  client: ClientBase,
  { table, name, staging, window }: Replacement,
): Promise<void> {
  const live = await readColumns(client, table);
  if (live === undefined) {
    await client.query(`ALTER TABLE ${staging} RENAME TO ${quoteName(name)}`);
    return;
  }
  if (window === undefined) {
    await client.query(`TRUNCATE ${table}`);
  } else {
    await clearWindow(client, { table, staging, window });
  }
  const staged = new Set((await readColumns(client, staging))?.map((column) => column.name));
  const columns = quoteNames(
    live.map((column) => column.name).filter((column) => staged.has(column)),
  );
  await client.query(
    `INSERT INTO ${table} (${columns}) OVERRIDING SYSTEM VALUE SELECT ${columns} FROM ${staging}`,
  );
  await client.query(`DROP TABLE ${staging}`);
}

/** The condition for rows in the window, with `$1` and `$2` as its bounds. */
export function insideWindow({ column, from, to }: NonNullable<Replacement['window']>): {
  readonly sql: string;
  readonly bounds: string[];
} {
  return {
    sql: `${quoteName(column)} >= $1 AND ${quoteName(column)} < $2`,
    bounds: [jsonText(from), jsonText(to)],
  };
}

async function clearWindow(
  client: ClientBase,
  { table, staging, window }: Required<Pick<Replacement, 'table' | 'staging' | 'window'>>,
): Promise<void> {
  if (window === undefined) return;
  const { sql: inside, bounds } = insideWindow(window);
  const outside = await client.query<{ n: string }>(
    `SELECT count(*) AS n FROM ${staging} WHERE (${inside}) IS NOT TRUE`,
    bounds,
  );
  const count = outside.rows[0]?.n ?? '0';
  if (count !== '0') {
    throw new ConnectorError(
      'data',
      `${count} records are outside the window of \`${window.column}\` that is replaced`,
      {
        hint: 'widen `scope.window`, or filter the records',
      },
    );
  }
  await client.query(`DELETE FROM ${table} WHERE ${inside}`, bounds);
}
