import type { SinkContext } from '../../kit/context.ts';
import type { ProbeFinding } from '../../kit/probe.ts';
import { isKeyed } from '../../kit/write-spec.ts';
import { AppError, messageOf } from '../../lib/errors.ts';
import { inOneCase } from '../../lib/sql/sql-name.ts';
import { failed, tableFinding } from '../_sql/probe-table.ts';
import type { SpannerSinkConfig } from './config.ts';
import { SpannerLink } from './link.ts';
import { SpannerDriver } from './write/driver.ts';

/** Whether Spanner takes the login, and the table is one that the config can write to. */
export async function probeSink(
  config: SpannerSinkConfig,
  context: SinkContext,
): Promise<ProbeFinding[]> {
  const link = new SpannerLink(config, context);
  const driver = new SpannerDriver(config, link);
  const findings: ProbeFinding[] = [];
  try {
    await link.rows('a query without a table', { sql: 'SELECT 1' });
    findings.push({ name: 'auth', status: 'pass' });
    findings.push(await probeTable(config, driver));
  } catch (error) {
    const [name, otherwise] =
      findings.length === 0
        ? ['auth', 'check `project_id`, `instance`, `database` and `auth`']
        : ['schema', 'look at the table and its key'];
    const hint = (error instanceof AppError ? error.hint : undefined) ?? otherwise;
    findings.push({ name, status: 'fail', reason: messageOf(error), hint });
  } finally {
    await driver.close();
  }
  return findings;
}

async function probeTable(config: SpannerSinkConfig, driver: SpannerDriver): Promise<ProbeFinding> {
  const { table_name: table, key, write_mode: mode } = config;
  const columns = await driver.columns(table);
  const found = tableFinding(
    { ...config, column_mapping: { kind: 'auto' } },
    columns?.map(({ name }) => name),
    inOneCase,
  );
  if (found.status === 'fail') return found;
  if (columns === undefined && (key.length === 0 || mode === 'delete'))
    return failed(
      `there is no table \`${table}\`, and it cannot be made`,
      mode === 'delete' ? 'make the table' : 'name the columns of its primary key with `key`',
    );
  if (isKeyed(mode)) await driver.checkKey();
  return found;
}
