import type { ClientBase } from 'pg';
import type { SinkContext, SourceContext } from '../../kit/context.ts';
import type { ProbeFinding } from '../../kit/probe.ts';
import { AppError, messageOf } from '../../lib/errors.ts';
import { connectPostgres } from '../../lib/sql/postgres.ts';
import { quoteName } from '../../lib/sql/sql-name.ts';
import { probeStore } from '../_objects/probe-store.ts';
import { failed, tableFinding } from '../_sql/probe-table.ts';
import { connectionUrl } from './address.ts';
import type { Endpoint, RedshiftSinkConfig, RedshiftSourceConfig } from './config.ts';
import { describeResult } from './read/source.ts';
import { readColumns } from './write/columns.ts';
import { openStagingBucket } from './write/copy.ts';
import { schemaOf } from './write/driver.ts';

/** Whether the server takes the login, and the query can be read. */
export function probeSource(
  config: RedshiftSourceConfig,
  context: SourceContext,
): Promise<ProbeFinding[]> {
  return probed(config, context, async () => {
    try {
      await describeResult(config, context);
      return { name: 'query', status: 'pass' };
    } catch (error) {
      const hint = error instanceof AppError ? error.hint : undefined;
      return {
        name: 'query',
        status: 'fail',
        reason: messageOf(error),
        hint: hint ?? 'run the query with a client of the database',
      };
    }
  });
}

/** Whether the server takes the login, rows may be added, and objects may be staged. */
export async function probeSink(
  config: RedshiftSinkConfig,
  context: SinkContext,
): Promise<ProbeFinding[]> {
  const found = await probed(config, context, (client) => probeTable(client, config));
  if (config.write_strategy === 'insert') return found;
  const { staging_prefix: prefix = '' } = config;
  const open = () => openStagingBucket(config, context);
  const staging = await probeStore(open, prefix, context.signal);
  return [...found, ...staging.map((finding) => ({ ...finding, name: `staging-${finding.name}` }))];
}

async function probed(
  config: Endpoint,
  { signal }: { readonly signal: AbortSignal },
  look: (client: ClientBase) => Promise<ProbeFinding>,
): Promise<ProbeFinding[]> {
  let client: Awaited<ReturnType<typeof connectPostgres>>;
  try {
    client = await connectPostgres({ url: connectionUrl(config), signal });
  } catch (error) {
    signal.throwIfAborted();
    const own = error instanceof AppError ? error.hint : undefined;
    const hint = own ?? 'check `host`, `port`, `database`, `user`, `credentials` and `tls`';
    return [{ name: 'auth', status: 'fail', reason: messageOf(error), hint }];
  }
  try {
    return [{ name: 'auth', status: 'pass' }, await look(client)];
  } catch (error) {
    const hint = 'look at the table with a client of the database';
    return [{ name: 'auth', status: 'pass' }, failed(messageOf(error), hint)];
  } finally {
    await client.end().catch(() => {});
  }
}

async function probeTable(client: ClientBase, config: RedshiftSinkConfig): Promise<ProbeFinding> {
  const { table_name: table, create_table } = config;
  const schema = await schemaOf(client, config);
  const found = await client.query('SELECT 1 FROM pg_namespace WHERE nspname = $1', [schema]);
  if (found.rows.length === 0)
    return failed(`there is no schema \`${schema}\``, `CREATE SCHEMA ${quoteName(schema)}`);
  const columns = await readColumns(client, schema, table);
  const finding = tableFinding(
    {
      table_name: table,
      create_table,
      column_mapping: { kind: 'auto' },
      write_mode: 'append',
      key: [],
    },
    columns?.map(({ name }) => name),
  );
  if (finding.status === 'fail') return finding;
  const qualified = `${quoteName(schema)}.${quoteName(table)}`;
  const [right, subject] =
    columns === undefined ? ['CREATE', quoteName(schema)] : ['INSERT', qualified];
  const check = columns === undefined ? 'has_schema_privilege' : 'has_table_privilege';
  const name = columns === undefined ? schema : qualified;
  const { rows } = await client.query<{ holds: boolean; user: string }>(
    `SELECT ${check}(CAST($1 AS VARCHAR(1000)), '${right}') AS holds, current_user AS "user"`,
    [name],
  );
  if (rows[0]?.holds === true) return finding;
  const user = rows[0]?.user ?? config.user;
  const on = columns === undefined ? `SCHEMA ${subject}` : subject;
  return failed(
    `\`${user}\` has no right to ${right} ${columns === undefined ? `in the schema \`${schema}\`` : `into the table \`${table}\``}`,
    `GRANT ${right} ON ${on} TO ${quoteName(user)}`,
  );
}
