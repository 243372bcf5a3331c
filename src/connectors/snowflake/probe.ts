import type { SinkContext, SourceContext } from '../../kit/context.ts';
import type { ProbeFinding } from '../../kit/probe.ts';
import { AppError, messageOf } from '../../lib/errors.ts';
import { probeStore } from '../_objects/probe-store.ts';
import { stagedKey } from '../_objects/staged-objects.ts';
import { tableFinding } from '../_sql/probe-table.ts';
import type { Endpoint, SnowflakeSinkConfig, SnowflakeSourceConfig } from './config.ts';
import { describeResult } from './read/source.ts';
import { Session } from './session/session.ts';
import { readColumns } from './write/columns.ts';
import { openStageStore, stageFolder } from '../_objects/load-place.ts';

/** Whether the account takes the login, and the query can be read. */
export function probeSource(
  config: SnowflakeSourceConfig,
  context: SourceContext,
): Promise<ProbeFinding[]> {
  return probed(config, context, 'query', async () => {
    await describeResult(config, context);
    return { name: 'query', status: 'pass' };
  });
}

/** Whether the account takes the login, the table is there, and objects may be staged. */
export async function probeSink(
  config: SnowflakeSinkConfig,
  context: SinkContext,
): Promise<ProbeFinding[]> {
  const found = await probed(config, context, 'schema', async (session) => {
    const columns = await readColumns(session, config);
    const { table: table_name, create_table } = config;
    return tableFinding(
      { table_name, create_table, column_mapping: { kind: 'auto' }, write_mode: 'append', key: [] },
      columns?.map(({ name }) => name),
    );
  });
  const { bulk_load: load } = config;
  if (load === undefined) return found;
  const folder = stagedKey(stageFolder(load), '');
  const staging = await probeStore(() => openStageStore(load, context), folder, context.signal);
  return [...found, ...staging.map((finding) => ({ ...finding, name: `staging-${finding.name}` }))];
}

async function probed(
  config: Endpoint,
  context: SourceContext | SinkContext,
  name: string,
  look: (session: Session) => Promise<ProbeFinding>,
): Promise<ProbeFinding[]> {
  let session: Session | undefined;
  try {
    session = await Session.open(config, context);
    await session.rows('SELECT 1');
  } catch (error) {
    await session?.close();
    return [failed('auth', error, 'check `account`, `auth` and `role`')];
  }
  try {
    return [{ name: 'auth', status: 'pass' }, await look(session)];
  } catch (error) {
    return [
      { name: 'auth', status: 'pass' },
      failed(name, error, 'check `warehouse`, `database` and `schema`'),
    ];
  } finally {
    await session.close();
  }
}

function failed(name: string, error: unknown, hint: string): ProbeFinding {
  const own = error instanceof AppError ? error.hint : undefined;
  return { name, status: 'fail', reason: messageOf(error), hint: own ?? hint };
}
