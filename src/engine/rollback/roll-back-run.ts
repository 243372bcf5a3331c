/**
 * Rolls back one invocation: its destination in one transaction, then the position in the state
 * store.
 */
import type { JsonValue } from '../../lib/text/json.ts';
import type { RollbackReport } from '../../wire/rollback.ts';
import { removeState } from '../delivery/remove-state.ts';
import { wrapConnectorError } from '../failure.ts';
import { findRun, opening, type RollbackOptions } from './find-run.ts';
import { Markers, type Marker, type MarkerStore } from './markers.ts';
import { openSinkRollback } from './open-sink.ts';
import { isSame } from './rollback-log.ts';
import { reportOf } from './rollback-report.ts';
import { settleInterrupted, settleRollback, type MarkedDestination } from './settle.ts';

export interface RollBackRunOptions extends RollbackOptions {
  /** Invocation id. */
  readonly runId: string;
  readonly dryRun: boolean;
  readonly force: boolean;
}

/** Refuses what cannot be rolled back; conflicts are in the report. */
export async function rollBackRun(options: RollBackRunOptions): Promise<RollbackReport> {
  await using closers = new AsyncDisposableStack();
  const { row, state, marker } = await findRun(options, closers);
  const rollback = await openSinkRollback(
    opening(options, options.runId),
    { row, marker },
    closers,
  );
  try {
    const labels = { pipeline: options.plan.name, row: row.id };
    const marked: MarkerStore = {
      get: (key) => state.get(key),
      put: (key, value) => state.put(key, value),
      delete: (key) => removeState({ store: state, env: options.env, labels }, key),
    };
    return await rollBackMarked(
      options,
      { state: marked, stateKey: row.stateKey, rollback },
      marker,
    );
  } catch (error) {
    throw wrapConnectorError('State', row.state?.type ?? 'state', error);
  }
}

async function rollBackMarked(
  { runId, dryRun, force }: RollBackRunOptions,
  destination: MarkedDestination,
  marker: Marker,
): Promise<RollbackReport> {
  const { state, stateKey, rollback } = destination;
  const markers = new Markers(state, stateKey);
  const position = async () => ({ stored: await state.get(stateKey) });
  const { undoing } = await markers.index();
  const done = dryRun || undoing !== runId ? undefined : await rollback.applied(runId);
  if (done !== undefined) {
    const rewinds = isRewound(await position(), marker);
    await settleRollback(destination, runId, marker);
    return reportOf({
      marker,
      result: done,
      dryRun,
      force: true,
      dependent: 0,
      open: 0,
      laterRuns: [],
      rewinds,
    });
  }
  if (!dryRun) await settleInterrupted(destination);
  const { runs } = await markers.index();
  const laterRuns = runs.slice(runs.indexOf(runId) + 1);
  const now = await position();
  const rewinds = isRewound(now, marker);
  // Records that are read and appended again would be there twice; with keys that is harmless.
  const appended =
    marker.mode === 'append' && rewinds ? laterRuns.length || runsUnknown(now, marker) : 0;
  const open = rewinds ? await openAmong(markers, laterRuns) : 0;
  const dependent = appended || open;
  const isBlocked = dependent > 0 && !force;
  const isAllowed = !dryRun && !isBlocked;
  if (isAllowed) await markers.putIndex({ runs, undoing: runId });
  const result = await rollback.apply({
    runId,
    mode: marker.mode,
    column: marker.run_id_column,
    ...(marker.token_before === undefined
      ? {}
      : { watermark: { scope: stateKey, token: marker.token_before ?? undefined } }),
    dryRun: !isAllowed,
    force,
  });
  if (isAllowed && result.applied) await settleRollback(destination, runId, marker);
  else if (isAllowed) await markers.putIndex({ runs });
  return reportOf({
    marker,
    result: { ...result, applied: isAllowed && result.applied },
    dryRun,
    force,
    dependent,
    open,
    laterRuns,
    rewinds,
  });
}

interface StoredPosition {
  readonly stored: JsonValue | undefined;
}

function isRewound({ stored }: StoredPosition, { bookmark_before: before }: Marker): boolean {
  return !isSame(stored, before);
}

/**
 * Runs that are not kept leave nothing but a position behind that of the last one that is: there is
 * one at least.
 */
function runsUnknown({ stored }: StoredPosition, { bookmark_after: after }: Marker): number {
  return after === undefined || isSame(stored, after) ? 0 : 1;
}

/** Runs that were killed, or that still run and will store a position of their own. */
async function openAmong(markers: Markers, runIds: readonly string[]): Promise<number> {
  const found = await Promise.all(runIds.map((runId) => markers.get(runId)));
  return found.filter((marker) => marker !== undefined && marker.records_written === undefined)
    .length;
}
