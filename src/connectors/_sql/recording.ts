/** The part of a SQL sink that records what a rollback needs. */
import type { Log } from '../../lib/log.ts';
import type { HeldScope } from '../../kit/execution.ts';
import type { SinkRollback, RollbackMode, RollbackSettings } from '../../kit/rollback.ts';
import type { SqlDriver, RollbackDriver } from './driver.ts';
import type { SqlSinkConfig } from './sink-fields.ts';
import { forgetRuns, rolledBackRun, rollBackRun } from './rollback.ts';

export interface Recording {
  /** Absent where runs cannot be rolled back. */
  readonly rollback?: SinkRollback;
  /** The id of the run, when it is recorded in this mode. */
  runIn(mode: RollbackMode): string | undefined;
}

interface RecordingUse {
  readonly driver: SqlDriver;
  readonly log: Log;
  readonly held: () => HeldScope | undefined;
}

export function createRecording(
  config: SqlSinkConfig,
  { driver, log, held }: RecordingUse,
): Recording {
  const { rollback } = driver;
  if (rollback === undefined || config.column_mapping.kind !== 'auto')
    return { runIn: () => undefined };
  let recorded: RollbackSettings | undefined;
  const target = () => ({ table: config.table_name, key: config.key, held: held() });
  return {
    runIn: (mode) => (recorded?.mode === mode ? recorded.runId : undefined),
    rollback: {
      async record(settings) {
        await prepare(settings, { config, driver, rollback, log });
        recorded = settings;
      },
      apply: (request) => rollBackRun(rollback, target(), request),
      applied: (runId) => rolledBackRun(rollback, target(), runId),
      forget: (runIds) => forgetRuns(rollback, target(), runIds),
    },
  };
}

interface Preparing {
  readonly config: SqlSinkConfig;
  readonly driver: SqlDriver;
  readonly rollback: RollbackDriver;
  readonly log: Log;
}

/**
 * Adds the run id column where it is missing. Deleted rows need no id, and a new table gets the
 * column from its first rows.
 */
async function prepare(
  { column, mode }: RollbackSettings,
  { config, driver, rollback, log }: Preparing,
): Promise<void> {
  if (mode !== 'append') await rollback.createRollbackLog();
  if (config.write_mode === 'delete') return;
  const live = await driver.columns(config.table_name);
  if (live === undefined || live.some(({ name }) => name === column)) return;
  const add = [{ name: column, type: 'string' }] as const;
  await driver.evolve(config.table_name, { add, widen: [], relaxNull: [] }, []);
  log.info('the table got a column for the id of the run', { table: config.table_name, column });
}
