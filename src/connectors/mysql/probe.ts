import type { Connection } from 'mysql2';
import { AppError, messageOf } from '../../lib/errors.ts';
import { askMysql, connectMysql } from '../../lib/sql/mysql.ts';
import { backticked } from '../../lib/sql/mysql-address.ts';
import { mysqlError } from '../../lib/sql/mysql-errors.ts';
import { inOneCase } from '../../lib/sql/sql-name.ts';
import type { ProbeFinding } from '../../kit/probe.ts';
import { failed, tableFinding } from '../_sql/probe-table.ts';
import type { MysqlSinkConfig } from './config.ts';
import { readColumns, type TableColumn } from './write/schema.ts';
import { requireUniqueKey } from './write/upsert-key.ts';

/** Whether a run could connect, and write to the table with the rights of its user. */
export async function probeMysql(config: MysqlSinkConfig): Promise<ProbeFinding[]> {
  let connection: Connection;
  try {
    connection = await connectMysql({ url: config.connection_url, session: [] });
  } catch (error) {
    const hint = 'check host, port, user, password and database of `connection_url`';
    return [{ name: 'auth', status: 'fail', reason: messageOf(error), hint }];
  }
  try {
    return [{ name: 'auth', status: 'pass' }, await probeTable(connection, config)];
  } catch (error) {
    const hint = 'look at the table with a client of the database';
    return [{ name: 'auth', status: 'pass' }, failed(messageOf(error), hint)];
  } finally {
    connection.destroy();
  }
}

async function probeTable(connection: Connection, config: MysqlSinkConfig): Promise<ProbeFinding> {
  const { table_name: table } = config;
  const columns = await readColumns(connection, table);
  const names = columns?.map(({ name }) => name);
  const finding = tableFinding(config, names, inOneCase);
  if (finding.status === 'fail' || columns === undefined) return finding;
  for (const [right, statement] of statementsFor(config, columns)) {
    try {
      // Explaining a statement needs the rights of the statement, and does nothing else.
      await askMysql(connection, `EXPLAIN ${statement}`);
    } catch (error) {
      if (!isDenied(error)) continue;
      return failed(
        `no right to ${right} on the table \`${table}\`: ${messageOf(error)}`,
        `GRANT ${right} ON ${backticked(table)} TO the user of the address`,
      );
    }
  }
  return config.write_mode === 'upsert' ? probeKey(connection, config) : finding;
}

async function probeKey(connection: Connection, config: MysqlSinkConfig): Promise<ProbeFinding> {
  try {
    await requireUniqueKey(connection, config);
    return { name: 'schema', status: 'pass' };
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    return failed(error.message, error.hint ?? '');
  }
}

/** Rights are looked at first: a statement that fails for a column without a default had them. */
function isDenied(error: unknown): boolean {
  const kind = mysqlError(error, '').kind;
  return kind === 'refused' || kind === 'auth';
}

function statementsFor(
  { write_mode: mode, table_name: name, delete_marker: marker }: MysqlSinkConfig,
  columns: readonly TableColumn[],
): (readonly [right: string, statement: string])[] {
  const table = backticked(name);
  const column = backticked(columns[0]?.name ?? '');
  const insert = [
    'INSERT',
    `INSERT INTO ${table} (${column}) SELECT NULL FROM DUAL WHERE FALSE`,
  ] as const;
  const update = ['UPDATE', `UPDATE ${table} SET ${column} = ${column} WHERE FALSE`] as const;
  const remove = ['DELETE', `DELETE FROM ${table} WHERE FALSE`] as const;
  switch (mode) {
    case 'append':
    case 'overwrite':
      return [insert];
    case 'upsert':
      return [insert, update, ...(marker === undefined ? [] : [remove])];
    case 'delete':
      return [remove];
    default:
      return mode satisfies never;
  }
}
