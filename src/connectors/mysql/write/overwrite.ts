import { randomBytes } from 'node:crypto';
import type { Connection } from 'mysql2';
import { ConnectorError } from '../../../lib/errors.ts';
import { askMysql } from '../../../lib/sql/mysql.ts';
import { backticked } from '../../../lib/sql/mysql-address.ts';
import { notCloned, readColumns } from './schema.ts';

const UNIQUE_BYTES = 4;

/** Puts the staged table in the place of the other one, for all readers at once. */
export async function replaceTable(
  connection: Connection,
  table: string,
  staging: string,
): Promise<void> {
  const [to, from] = [backticked(table), backticked(staging)];
  if ((await readColumns(connection, table)) === undefined) {
    await askMysql(connection, `RENAME TABLE ${from} TO ${to}`);
    return;
  }
  await refuseLoss(connection, table);
  // Should this end before the table is dropped, the next overwrite finds it by its name.
  const unique = randomBytes(UNIQUE_BYTES).toString('hex');
  const old = backticked(staging.slice(0, -unique.length) + unique);
  await askMysql(connection, `RENAME TABLE ${to} TO ${old}, ${from} TO ${to}`);
  // Whoever takes the run over may have done so.
  await askMysql(connection, `DROP TABLE IF EXISTS ${old}`);
}

/** A copy of a table has neither its triggers nor foreign keys of it or to it. */
async function refuseLoss(connection: Connection, table: string): Promise<void> {
  const lost = await notCloned(connection, table);
  if (lost === undefined) return;
  throw new ConnectorError('refused', `\`${table}\` cannot be overwritten: ${lost} would be lost`, {
    hint: 'drop it, write into another table, or use `write_mode: upsert` with `complete_for`',
  });
}
