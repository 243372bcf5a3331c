/** The side of a sink that keeps runs undoable. */
import type { Log } from '../../lib/log.ts';
import type { SinkRollback, RollbackMode, RollbackSettings } from '../../kit/rollback.ts';
import type { SqlDriver, UndoDriver } from './driver.ts';
import type { SqlSinkConfig } from './sink-fields.ts';
import { forgetRuns, undoneRun, undoRun } from './undo.ts';

export interface Recording {
  /** Absent where runs cannot be undone. */
  readonly rollback?: SinkRollback;
  /** The run to keep things for, when it is recorded in this mode. */
  runIn(mode: RollbackMode): string | undefined;
}

export function createRecording(config: SqlSinkConfig, driver: SqlDriver, log: Log): Recording {
  const { undoing } = driver;
  if (undoing === undefined || config.column_mapping.kind !== 'auto')
    return { runIn: () => undefined };
  let recorded: RollbackSettings | undefined;
  const target = { table: config.table_name, key: config.key };
  return {
    runIn: (mode) => (recorded?.mode === mode ? recorded.runId : undefined),
    rollback: {
      async record(settings) {
        await prepare(settings, { config, driver, undoing, log });
        recorded = settings;
      },
      apply: (request) => undoRun(undoing, target, request),
      applied: (runId) => undoneRun(undoing, target, runId),
      forget: (runIds) => forgetRuns(undoing, target, runIds),
    },
  };
}

interface Preparing {
  readonly config: SqlSinkConfig;
  readonly driver: SqlDriver;
  readonly undoing: UndoDriver;
  readonly log: Log;
}

/**
 * Rows that are only deleted carry no id; a table that is made gets the column from its first rows.
 */
async function prepare(
  { column, mode }: RollbackSettings,
  { config, driver, undoing, log }: Preparing,
): Promise<void> {
  if (mode !== 'append') await undoing.makeJournal();
  if (config.write_mode === 'delete') return;
  const live = await driver.columns(config.table_name);
  if (live === undefined || live.some(({ name }) => name === column)) return;
  await driver.evolve(config.table_name, {
    add: [{ name: column, type: 'string' }],
    widen: [],
    relaxNull: [],
  });
  log.info('the table got a column for the id of the run', { table: config.table_name, column });
}
