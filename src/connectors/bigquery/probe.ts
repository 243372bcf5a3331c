import type { SinkContext, SourceContext } from '../../kit/context.ts';
import type { ProbeFinding } from '../../kit/probe.ts';
import { AppError, messageOf } from '../../lib/errors.ts';
import { inOneCase } from '../../lib/sql/sql-name.ts';
import { failed, tableFinding } from '../_sql/probe-table.ts';
import { openGcsBucket } from '../_objects/gcs-place.ts';
import type { BigquerySinkConfig, BigquerySourceConfig } from './config.ts';
import { dryRun } from './jobs.ts';
import { Link } from './link.ts';
import { describeResult } from './read/source.ts';
import { lookAtTable, schemaIn } from './tables.ts';
import { fieldsIn, liveColumn, type BigqueryColumn } from './types/fields.ts';
import { deleteSql, insertSql, tableName, upsertSql } from './write/statements.ts';

/** Whether BigQuery takes the login, and would run the query; a dry run costs nothing. */
export async function probeSource(
  config: BigquerySourceConfig,
  context: SourceContext,
): Promise<ProbeFinding[]> {
  try {
    await describeResult(config, context);
    return [{ name: 'query', status: 'pass' }];
  } catch (error) {
    return [failedProbe('query', error, 'look at the query')];
  }
}

/** Whether BigQuery takes the login, and the table takes such statements; writes nothing. */
export async function probeSink(
  config: BigquerySinkConfig,
  context: SinkContext,
): Promise<ProbeFinding[]> {
  let link: Link;
  try {
    link = await Link.open(config, context);
    await dryRun(link, 'a query without a table', { sql: 'SELECT 1' });
  } catch (error) {
    return [failedProbe('auth', error, 'check `project_id` and `auth`')];
  }
  const found: ProbeFinding[] = [{ name: 'auth', status: 'pass' }];
  try {
    found.push(await probeTable(link, config));
    if (config.bulk_load !== undefined) await probeBucket(config, context);
  } catch (error) {
    found.push(failedProbe('schema', error, 'look at the dataset and its table'));
  }
  return found;
}

async function probeTable(link: Link, config: BigquerySinkConfig): Promise<ProbeFinding> {
  const { dataset_id: dataset, table_id: table } = config;
  const looked = await lookAtTable(link, dataset, table);
  const columns = looked === undefined ? undefined : fieldsIn(schemaIn(looked)).map(liveColumn);
  const written = { ...config, table_name: table, column_mapping: { kind: 'auto' } } as const;
  const told = tableFinding(
    written,
    columns?.map(({ name }) => name),
    inOneCase,
  );
  if (told.status === 'fail' || columns === undefined || columns.length === 0) return told;
  const name = tableName({ project: config.project_id, dataset }, table);
  const sql = statementFor(config, name, columns);
  try {
    await dryRun(link, 'a statement that is not run', {
      sql,
      parameters: [{ name: 'svc_rows', type: 'STRING', value: '[]' }],
    });
  } catch (error) {
    return failed(
      `the account may not write to \`${table}\`: ${messageOf(error)}`,
      'grant the account the role BigQuery Data Editor on the dataset',
    );
  }
  return told;
}

function statementFor(
  { write_mode: mode, key: names }: BigquerySinkConfig,
  table: string,
  columns: readonly BigqueryColumn[],
): string {
  const key = names.flatMap((name) =>
    columns.filter((column) => inOneCase(column.name) === inOneCase(name)),
  );
  switch (mode) {
    case 'append':
    case 'overwrite':
      return insertSql(table, columns, 'svc_rows');
    case 'upsert':
      return upsertSql(table, { columns, key }, 'svc_rows');
    case 'delete':
      return deleteSql(table, key, 'svc_rows');
    default:
      return mode satisfies never;
  }
}

async function probeBucket(config: BigquerySinkConfig, context: SinkContext): Promise<void> {
  const { bulk_load: bulk } = config;
  if (bulk === undefined) return;
  const { staging_bucket: bucket, staging_prefix, gcs_auth: auth, storage_host } = bulk;
  const store = await openGcsBucket({ bucket, auth, storage_host }, context);
  try {
    await store.tryWrite(`${staging_prefix}svc-probe`, context.signal);
  } finally {
    store.close();
  }
}

function failedProbe(name: string, error: unknown, otherwise: string): ProbeFinding {
  const hint = (error instanceof AppError ? error.hint : undefined) ?? otherwise;
  return { name, status: 'fail', reason: messageOf(error), hint };
}
