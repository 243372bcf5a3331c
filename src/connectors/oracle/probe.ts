import type { PartContext } from '../../kit/context.ts';
import type { ProbeFinding } from '../../kit/probe.ts';
import { messageOf } from '../../lib/errors.ts';
import { inOneCase } from '../../lib/sql/sql-name.ts';
import { failed, tableFinding } from '../_sql/probe-table.ts';
import type { OracleSinkConfig, OracleSourceConfig } from './config.ts';
import { Link } from './connection.ts';
import type { Endpoint } from './fields.ts';
import { parseTable, tableSql, type TableName } from './names.ts';
import { readColumns } from './write/schema.ts';

const HINT = 'check `connect_string` or `host`, `port` and `service_name`, user and password';
const PROBE_SECS = 10;

/** Whether a run could connect. */
export async function probeSource(
  config: OracleSourceConfig,
  context: PartContext,
): Promise<ProbeFinding[]> {
  return connected(config, context, async () => []);
}

/** Whether a run could connect, and write to the table with the rights of its user. */
export async function probeSink(
  config: OracleSinkConfig,
  context: PartContext,
): Promise<ProbeFinding[]> {
  return connected(config, context, async (link) => [await probeTable(link, config)]);
}

async function connected(
  endpoint: Endpoint,
  { signal }: PartContext,
  more: (link: Link) => Promise<ProbeFinding[]>,
): Promise<ProbeFinding[]> {
  let link: Link;
  try {
    link = await Link.open(endpoint, { signal, timeoutSecs: PROBE_SECS });
  } catch (error) {
    return [{ name: 'auth', status: 'fail', reason: messageOf(error), hint: HINT }];
  }
  const passed: ProbeFinding = { name: 'auth', status: 'pass' };
  try {
    return [passed, ...(await more(link))];
  } catch (error) {
    return [passed, failed(messageOf(error), 'look at the table with a client of the database')];
  } finally {
    link.close();
  }
}

async function probeTable(link: Link, config: OracleSinkConfig): Promise<ProbeFinding> {
  const table = parseTable(config.table_name);
  const columns = await readColumns(link, table);
  const finding = tableFinding(
    config,
    columns?.map(({ name }) => name),
    inOneCase,
  );
  if (finding.status === 'fail' || columns === undefined) return finding;
  const granted = await rightsOn(link, table);
  const missing = rightsFor(config).find((right) => granted?.has(right) === false);
  if (missing === undefined) return finding;
  return failed(
    `no right to ${missing} on the table \`${config.table_name}\``,
    `GRANT ${missing} ON ${tableSql(table)} TO the user`,
  );
}

/** `undefined` for a table of the user, who has all rights. */
async function rightsOn(
  link: Link,
  { owner, table }: TableName,
): Promise<ReadonlySet<string> | undefined> {
  const [current] = await link.ask(
    `SELECT SYS_CONTEXT('USERENV', 'CURRENT_SCHEMA') AS owner FROM DUAL`,
  );
  if (owner === undefined || owner === current?.[0]) return undefined;
  const rows = await link.ask(
    `SELECT privilege FROM all_tab_privs WHERE table_schema = :1 AND table_name = :2
     UNION ALL SELECT privilege FROM session_privs`,
    [owner, table],
  );
  return new Set(rows.map(([name]) => String(name).replace(' ANY TABLE', '')));
}

function rightsFor({ write_mode: mode, delete_marker: marker }: OracleSinkConfig): string[] {
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
