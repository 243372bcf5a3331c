import type { PartContext } from '../../kit/context.ts';
import type { ProbeFinding } from '../../kit/probe.ts';
import { messageOf } from '../../lib/errors.ts';
import { inOneCase } from '../../lib/sql/sql-name.ts';
import { Link } from '../_mssql/connection.ts';
import { parseTable, tableSql } from '../_mssql/quote.ts';
import { failed, tableFinding } from '../_sql/probe-table.ts';
import type { MssqlSinkConfig, MssqlSourceConfig } from './config.ts';
import { readColumns } from './write/schema.ts';

const HINT = 'check host, port, user, password, database and `tls`';
const PROBE_SECS = 10;

/** Whether a run could connect. */
export async function probeSource(
  config: MssqlSourceConfig,
  { signal }: PartContext,
): Promise<ProbeFinding[]> {
  try {
    const link = await Link.open(config, { signal, timeoutSecs: PROBE_SECS });
    link.close();
    return [{ name: 'connect', status: 'pass' }];
  } catch (error) {
    return [{ name: 'connect', status: 'fail', reason: messageOf(error), hint: HINT }];
  }
}

/** Whether a run could connect, and write to the table with the rights of its user. */
export async function probeSink(
  config: MssqlSinkConfig,
  { signal }: PartContext,
): Promise<ProbeFinding[]> {
  let link: Link;
  try {
    link = await Link.open(config, { signal, timeoutSecs: PROBE_SECS });
  } catch (error) {
    return [{ name: 'connect', status: 'fail', reason: messageOf(error), hint: HINT }];
  }
  const connected: ProbeFinding = { name: 'connect', status: 'pass' };
  try {
    return [connected, await probeTable(link, config)];
  } catch (error) {
    return [connected, failed(messageOf(error), 'look at the table with a client of the server')];
  } finally {
    link.close();
  }
}

async function probeTable(link: Link, config: MssqlSinkConfig): Promise<ProbeFinding> {
  const table = parseTable(config.table_name);
  const columns = await readColumns(link, table);
  const names = columns?.map(({ name }) => name);
  const finding = tableFinding(config, names, inOneCase);
  if (finding.status === 'fail' || columns === undefined) return finding;
  const rights = rightsFor(config);
  const asked = rights.map((right) => `HAS_PERMS_BY_NAME(@table, 'OBJECT', '${right}')`);
  const { rows } = await link.ask(`SELECT ${asked.join(', ')}`, [
    { name: 'table', type: 'text', value: tableSql(table) },
  ]);
  const missing = rights.find((_, at) => Number(rows[0]?.[at]) !== 1);
  if (missing === undefined) return finding;
  return failed(
    `no right to ${missing} on the table \`${config.table_name}\``,
    `GRANT ${missing} ON ${tableSql(table)} TO the user of the address`,
  );
}

function rightsFor({ write_mode: mode, delete_marker: marker }: MssqlSinkConfig): string[] {
  switch (mode) {
    case 'append':
      return ['INSERT'];
    case 'overwrite':
      return ['SELECT', 'INSERT', 'DELETE'];
    case 'upsert':
      return ['SELECT', 'INSERT', 'UPDATE', ...(marker === undefined ? [] : ['DELETE'])];
    case 'delete':
      return ['SELECT', 'DELETE'];
    default:
      return mode satisfies never;
  }
}
