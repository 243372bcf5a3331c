import type { ClientBase } from 'pg';
import { messageOf } from '../../lib/errors.ts';
import { connectPostgres } from '../../lib/sql/postgres.ts';
import { quoteName } from '../../lib/sql/sql-name.ts';
import type { ProbeFinding } from '../../kit/probe.ts';
import { failed, tableFinding } from '../_sql/probe-table.ts';
import type { PostgresSinkConfig } from './config.ts';
import { readColumns } from './write/schema.ts';

/** Whether a run could connect, and write to the table with the rights of its user. */
export async function probePostgres(config: PostgresSinkConfig): Promise<ProbeFinding[]> {
  let client: Awaited<ReturnType<typeof connectPostgres>>;
  try {
    client = await connectPostgres({ url: config.connection_url });
  } catch (error) {
    const hint = 'check host, port, user, password and database of `connection_url`';
    return [{ name: 'auth', status: 'fail', reason: messageOf(error), hint }];
  }
  try {
    return [{ name: 'auth', status: 'pass' }, await probeTable(client, config)];
  } catch (error) {
    const hint = 'look at the table with a client of PostgreSQL';
    return [{ name: 'auth', status: 'pass' }, failed(messageOf(error), hint)];
  } finally {
    await client.end();
  }
}

async function probeTable(client: ClientBase, config: PostgresSinkConfig): Promise<ProbeFinding> {
  const { schema, table_name: name } = config;
  const [about] = (
    await client.query<{ schema: string | null; exists: boolean; user: string; creates: boolean }>(
      `SELECT s.name AS schema, to_regnamespace(quote_ident(s.name)) IS NOT NULL AS exists, current_user AS user,
        CASE WHEN to_regnamespace(quote_ident(s.name)) IS NULL THEN false ELSE has_schema_privilege(s.name, 'CREATE') END AS creates
      FROM (SELECT coalesce($1, current_schema()) AS name) AS s`,
      [schema ?? null],
    )
  ).rows;
  if (about?.exists !== true)
    return schema === undefined
      ? failed('no schema of the search path exists', 'name one with `schema`')
      : failed(`there is no schema \`${schema}\``, `CREATE SCHEMA ${quoteName(schema)}`);
  const user = quoteName(about.user);
  const place = quoteName(about.schema ?? '');
  if (schema !== undefined && !(await holds(client, `has_schema_privilege($1, 'USAGE')`, schema)))
    return failed(
      `\`${about.user}\` may not use the schema \`${schema}\``,
      `GRANT USAGE ON SCHEMA ${place} TO ${user}`,
    );
  const table = (schema === undefined ? '' : `${quoteName(schema)}.`) + quoteName(name);
  const columns = await readColumns(client, table);
  const finding = tableFinding(
    config,
    columns?.map((column) => column.name),
  );
  if (finding.status === 'fail') return finding;
  if ((columns === undefined || config.write_mode === 'overwrite') && !about.creates)
    return failed(
      `\`${about.user}\` may not make tables in the schema \`${about.schema}\``,
      `GRANT CREATE ON SCHEMA ${place} TO ${user}`,
    );
  if (columns === undefined) return finding;
  for (const right of rightsFor(config)) {
    const check = ['INSERT', 'UPDATE', 'SELECT'].includes(right)
      ? `has_any_column_privilege($1, '${right}')`
      : `has_table_privilege($1, '${right}')`;
    if (await holds(client, check, table)) continue;
    return failed(
      `\`${about.user}\` has no right to ${right} on the table \`${name}\``,
      `GRANT ${right} ON ${table} TO ${user}`,
    );
  }
  return finding;
}

function rightsFor({
  write_mode: mode,
  delete_marker: marker,
  scope,
}: PostgresSinkConfig): string[] {
  switch (mode) {
    case 'append':
      return ['INSERT'];
    case 'upsert':
      return ['INSERT', 'UPDATE', 'SELECT', ...(marker === undefined ? [] : ['DELETE'])];
    case 'delete':
      return ['DELETE', 'SELECT'];
    case 'overwrite':
      return ['INSERT', scope === undefined ? 'TRUNCATE' : 'DELETE'];
    default:
      return mode satisfies never;
  }
}

async function holds(client: ClientBase, check: string, subject: string): Promise<boolean> {
  const { rows } = await client.query<{ holds: boolean }>(`SELECT ${check} AS holds`, [subject]);
  return rows[0]?.holds === true;
}
