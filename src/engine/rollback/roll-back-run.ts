/**
 * Rolls back one invocation: its destination in one transaction, then the position in the state
 * store, whose lease it holds meanwhile: no run moves the position, and no other rollback, whichever
 * server they are asked of.
 */
import type { JsonValue } from '../../lib/text/json.ts';
import { RunError } from '../../lib/errors.ts';
import type { RollbackReport } from '../../wire/rollback.ts';
import { removeState } from '../delivery/remove-state.ts';
import { wrapConnectorError } from '../failure.ts';
import { releaseLease, takeLease, type StateLease } from '../row/state-lease.ts';
import { findRun, opening, type FoundRun, type RollbackOptions } from './find-run.ts';
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
  const found = await findRun(options, closers);
  const { row, state, marker } = found;
  const rollback = await openSinkRollback(
    opening(options, options.runId),
    { row, marker },
    closers,
  );
  const lease = options.dryRun ? undefined : await leaseOf(options, found, closers);
  const inUse = lease instanceof RunError ? lease : undefined;
  const store = lease === undefined || lease instanceof RunError ? state : lease;
  const labels = { pipeline: options.plan.name, row: row.id };
  const marked: MarkerStore = {
    get: (key) => state.get(key),
    put: (key, value) => store.put(key, value),
    delete: (key) => removeState({ store, env: options.env, labels }, key),
  };
  const destination = { state: marked, stateKey: row.stateKey, rollback };
  const mayChange = !options.dryRun && inUse === undefined;
  try {
    const report = await rollBackMarked({ ...options, mayChange }, destination, marker);
    if (inUse === undefined || report.blocked) return report;
  } catch (error) {
    throw wrapConnectorError('State', row.state?.type ?? 'state', error);
  }
  throw inUse;
}

/** The error that says who has it; the report of what stands in the way tells more. */
async function leaseOf(
  { env, plan }: RollBackRunOptions,
  { row, state }: FoundRun,
  closers: AsyncDisposableStack,
): Promise<StateLease | RunError> {
  const afterLoss = 'ask for the rollback again: it goes on where this one stopped';
  const leasing = { env, plan, row, runId: env.ids.next(), isStrict: true, afterLoss };
  try {
    const lease = await takeLease(leasing, state, row.stateKey);
    closers.defer(() => releaseLease(lease, env.log));
    return lease;
  } catch (error) {
    if (error instanceof RunError && error.code === 'state_held') return error;
    throw error;
  }
}

async function rollBackMarked(
  { runId, dryRun, force, mayChange }: RollBackRunOptions & { readonly mayChange: boolean },
  destination: MarkedDestination,
  marker: Marker,
): Promise<RollbackReport> {
  const { state, stateKey, rollback } = destination;
  const markers = new Markers(state, stateKey);
  const position = async () => ({ stored: await state.get(stateKey) });
  const { undoing } = await markers.index();
  const done = !mayChange || undoing !== runId ? undefined : await rollback.applied(runId);
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
  if (mayChange) await settleInterrupted(destination);
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
  const isAllowed = mayChange && !isBlocked;
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
