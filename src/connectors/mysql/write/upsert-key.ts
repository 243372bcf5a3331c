/** The server decides by its unique indexes which row an upsert changes. */
import type { Connection } from 'mysql2';
import { ConnectorError } from '../../../lib/errors.ts';
import { backticked } from '../../../lib/sql/mysql-address.ts';
import type { MysqlSinkConfig } from '../config.ts';
import { readColumns, uniqueIndexes } from './schema.ts';
import { nameList } from './statements.ts';

/** Refuses a `key` that no unique index of the table has exactly; a table that is made gets one. */
export async function requireUniqueKey(
  connection: Connection,
  { table_name: table, key }: MysqlSinkConfig,
): Promise<void> {
  const indexes = await uniqueIndexes(connection, table);
  if (indexes.some((columns) => isSameSet(columns, key))) return;
  if ((await readColumns(connection, table)) === undefined) return;
  const create = `CREATE UNIQUE INDEX ${backticked(`${table}_key`)} ON ${backticked(table)} (${nameList(key)})`;
  const known = indexes.map((columns) => `(${columns.join(', ')})`).join(', ');
  throw new ConnectorError(
    'data',
    `\`${table}\` has no unique index on (${key.join(', ')}), which an upsert needs`,
    {
      hint: known === '' ? create : `it has one on ${known}; use that as \`key\`, or ${create}`,
    },
  );
}

function isSameSet(columns: readonly string[], key: readonly string[]): boolean {
  const folded = new Set(columns.map((name) => name.toLowerCase()));
  return folded.size === key.length && key.every((name) => folded.has(name.toLowerCase()));
}
