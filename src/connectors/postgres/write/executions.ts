/**
 * Executions of one run on several servers. One that was frozen inside of a transaction holds rows
 * locked that its successor has to write, for as long as it is frozen: its sessions are ended.
 */
import type { Pool } from 'pg';
import type { SinkContext } from '../../../kit/context.ts';
import type { PostgresSinkConfig } from '../config.ts';
import { openPostgresPool, withClient } from '../../../lib/sql/postgres.ts';
import { statementTimeOf } from '../../../lib/sql/statement-limit.ts';

/** A session is found by its name, which says whose it is. */
const END_EARLIER = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
  WHERE usename = current_user AND datname = current_database() AND pid <> pg_backend_pid()
  AND CASE WHEN application_name ~ ('^headgate ' || $1 || ' [0-9]{1,9}$') THEN split_part(application_name, ' ', 3)::integer < $2 ELSE false END`;

type Execution = Pick<SinkContext, 'runId' | 'claim' | 'signal'>;

/** Its sessions are named where other servers may take the run over. */
export function openExecutionPool(
  config: Pick<PostgresSinkConfig, 'connection_url' | 'max_connections' | 'statement_timeout_secs'>,
  { runId, claim }: Execution,
): Promise<Pool> {
  return openPostgresPool({
    url: config.connection_url,
    max: config.max_connections,
    time: statementTimeOf(config),
    session: claim === undefined ? {} : { application_name: `headgate ${runId} ${claim}` },
  });
}

export async function endEarlierExecutions(
  pool: Pool,
  { runId, claim, signal }: Execution,
): Promise<void> {
  // The first one has none before it.
  if (claim === undefined || claim < 2) return;
  await withClient(pool, { doing: 'ending sessions of a lost server', signal }, (client) =>
    client.query(END_EARLIER, [runId, claim]),
  );
}
