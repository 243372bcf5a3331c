/**
 * Undoes one invocation: its destination in one transaction, then the position in the state store.
 */
import { RefusedError } from '../../lib/errors.ts';
import type { Env } from '../../lib/env.ts';
import type { JsonValue } from '../../lib/text/json.ts';
import { createCredentials } from '../../credentials/index.ts';
import type { Credentials } from '../../kit/context.ts';
import type { Parts } from '../../kit/parts.ts';
import type { StateStore } from '../../kit/state-store.ts';
import type { SinkRollback, SinkRollbackResult } from '../../kit/rollback.ts';
import type { Plan, PlannedRow } from '../../plan/plan.ts';
import { resolvePart, type RuntimeTokens } from '../../plan/resolve.ts';
import type { RollbackReport } from '../../wire/rollback.ts';
import { wrapConnectorError } from '../failure.ts';
import { partContext } from '../row/parts.ts';
import { isSame } from './rollback-log.ts';
import { Markers, type Marker } from './markers.ts';
import { settleInterrupted, settleUndo, type Remembered } from './settle.ts';

export interface RollbackOptions {
  readonly plan: Plan;
  readonly parts: Parts;
  readonly env: Env;
  /** Look at this row only. */
  readonly row?: string | undefined;
  readonly signal: AbortSignal;
}

export interface RollBackRunOptions extends RollbackOptions {
  /** Invocation id. */
  readonly runId: string;
  readonly dryRun: boolean;
  readonly force: boolean;
}

/** What can be undone, oldest first for each row. */
export async function listRollbackable(options: RollbackOptions): Promise<Marker[]> {
  await using closers = new AsyncDisposableStack();
  const found: Marker[] = [];
  for (const row of candidates(options)) {
    const state = await openState(opening(options, ''), row, closers);
    found.push(...(await new Markers(state, row.stateKey).all()));
  }
  return found;
}

/** Refuses what cannot be rolled back; conflicts are in the report. */
export async function rollBackRun(options: RollBackRunOptions): Promise<RollbackReport> {
  await using closers = new AsyncDisposableStack();
  const { row, state, marker } = await find(options, closers);
  const undo = await openUndo(opening(options, options.runId), { row, marker }, closers);
  try {
    return await undoMarked(
      options,
      { state, stateKey: row.stateKey, undo: blaming(undo, row.sink.type) },
      marker,
    );
  } catch (error) {
    throw wrapConnectorError('State', row.state?.type ?? 'state', error);
  }
}

/** Tells failures of the sink from those of the store. */
function blaming(sink: SinkRollback, type: string): SinkRollback {
  const told = (error: unknown): never => {
    throw wrapConnectorError('Sink', type, error);
  };
  return {
    record: (settings) => sink.record(settings).catch(told),
    apply: (request) => sink.apply(request).catch(told),
    applied: (runId) => sink.applied(runId).catch(told),
    forget: (runIds) => sink.forget(runIds).catch(told),
  };
}

async function undoMarked(
  { runId, dryRun, force }: RollBackRunOptions,
  remembered: Remembered,
  marker: Marker,
): Promise<RollbackReport> {
  const { state, stateKey, undo } = remembered;
  const markers = new Markers(state, stateKey);
  const position = async () => ({ stored: await state.get(stateKey) });
  const { undoing } = await markers.index();
  const done = dryRun || undoing !== runId ? undefined : await undo.applied(runId);
  if (done !== undefined) {
    const rewinds = isRewound(await position(), marker);
    await settleUndo(remembered, runId, marker);
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
  if (!dryRun) await settleInterrupted(remembered);
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
  const result = await undo.apply({
    runId,
    mode: marker.mode,
    column: marker.run_id_column,
    ...(marker.token_before === undefined
      ? {}
      : { watermark: { scope: stateKey, token: marker.token_before ?? undefined } }),
    dryRun: !isAllowed,
    force,
  });
  if (isAllowed && result.applied) await settleUndo(remembered, runId, marker);
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

interface Told {
  readonly marker: Marker;
  readonly result: SinkRollbackResult;
  readonly dryRun: boolean;
  readonly force: boolean;
  readonly dependent: number;
  readonly open: number;
  readonly laterRuns: readonly string[];
  readonly rewinds: boolean;
}

function reportOf(told: Told): RollbackReport {
  const { marker, result, dryRun, force, dependent, laterRuns, rewinds } = told;
  const conflicts = result.conflicts + dependent;
  const blocked = conflicts > 0 && !force;
  return {
    run_id: marker.run_id,
    row: marker.row,
    sink_kind: marker.sink_kind,
    dataset: marker.sink_uri,
    mode: marker.mode,
    dry_run: dryRun,
    applied: result.applied,
    blocked,
    deleted: blocked ? 0 : result.deleted,
    restored: blocked ? 0 : result.restored,
    conflicts,
    bookmark_rewound: result.applied && rewinds,
    token_rewound: result.applied && marker.token_before !== undefined,
    later_runs: [...laterRuns],
    note: noteOf(told, blocked),
  };
}

function noteOf(
  { marker, result, dependent, open, laterRuns }: Told,
  blocked: boolean,
): string | null {
  if (open > 0 && blocked) {
    return `${open} later run(s) of the row have not ended, or were killed: wait for them, or undo them first, the newest one before the others`;
  }
  if (open > 0)
    return `${open} later run(s) of the row have not ended: one that continues overwrites the restored position with its own`;
  if (blocked && dependent > 0 && laterRuns.length === 0) {
    return 'a later run that is not kept appended what comes after it, which would be read and appended again: force it only if that is wanted';
  }
  if (blocked && dependent > 0) {
    return `${laterRuns.length} later run(s) appended what comes after it, and would be read and appended again: undo them first, the newest one before the others`;
  }
  if (blocked && laterRuns.length === 0) {
    return 'what this run wrote was changed or removed since by something that is not kept (a repair, a replay, a backfill, somebody else): only force undoes it';
  }
  if (blocked)
    return 'later runs changed or removed what this one wrote: undo them first, or force it';
  if (dependent > 0)
    return `the next run reads again what ${dependent} later run(s) appended: their records will be there twice`;
  const written = marker.mode === 'append' ? marker.records_written : undefined;
  if (written === undefined || written <= result.deleted) return null;
  return `${written - result.deleted} of the ${written} rows that the run wrote are gone already, or were changed by another run`;
}

interface Found {
  readonly row: PlannedRow;
  readonly state: StateStore;
  readonly marker: Marker;
}

async function find(options: RollBackRunOptions, closers: AsyncDisposableStack): Promise<Found> {
  const known: string[] = [];
  for (const row of candidates(options)) {
    const state = await openState(opening(options, options.runId), row, closers);
    const markers = new Markers(state, row.stateKey);
    const marker = await markers.get(options.runId);
    if (marker !== undefined) return { row, state, marker };
    const { runs, undone = [] } = await markers.index();
    if (undone.includes(options.runId))
      throw new RefusedError('bad_config', `the run \`${options.runId}\` was already undone`, {
        hint: 'nothing is left to do',
      });
    known.push(...runs);
  }
  throw new RefusedError('bad_config', `there is no undoable run \`${options.runId}\``, {
    hint:
      known.length === 0
        ? 'no run of this document can be undone'
        : `can be undone: ${known.toReversed().slice(0, 10).join(', ')}`,
  });
}

/**
 * Rows that run once and remember something; whether they were kept undoable, their store knows.
 */
function candidates({ plan, row: name }: RollbackOptions): PlannedRow[] {
  const rows = [...plan.rows, ...plan.unselected].filter(({ role, partition, shard, state }) => {
    return (
      role === 'root' &&
      partition === undefined &&
      shard === undefined &&
      state !== undefined &&
      plan.topology === undefined
    );
  });
  if (name === undefined) return rows;
  const named = rows.filter((row) => row.id === name);
  if (named.length > 0) return named;
  const hint =
    rows.length === 0
      ? 'no row of the document can be undone'
      : `possible are: ${rows.map((row) => row.id).join(', ')}`;
  throw new RefusedError('bad_config', `there is no row \`${name}\` whose runs could be undone`, {
    hint,
  });
}

interface Opening {
  readonly env: Env;
  readonly plan: Plan;
  readonly invocationId: string;
  readonly kill: AbortSignal;
  readonly credentials: Credentials;
}

function opening({ env, plan, parts, signal }: RollbackOptions, invocationId: string): Opening {
  return {
    env,
    plan,
    invocationId,
    kill: signal,
    credentials: createCredentials(parts.credentials, plan.auth, { env, signal }),
  };
}

function tokensAt(date: Date, zone = 'UTC'): RuntimeTokens {
  return { now: { date, zone }, records: new Map<string, JsonValue>() };
}

async function openState(
  options: Opening,
  row: PlannedRow,
  closers: AsyncDisposableStack,
): Promise<StateStore> {
  const { state } = row;
  if (state === undefined)
    throw new Error('cannot happen: a row without a state store is no candidate');
  try {
    const opened = await state.definition.open(
      resolvePart(state, tokensAt(options.env.clock.now())),
      partContext({ ...options, row }),
    );
    closers.defer(() => opened.close());
    return opened;
  } catch (error) {
    throw wrapConnectorError('State', state.type, error);
  }
}

/** The sink as the run had it: tokens have the values that they had then. */
async function openUndo(
  options: Opening,
  { row, marker }: Pick<Found, 'row' | 'marker'>,
  closers: AsyncDisposableStack,
): Promise<SinkRollback> {
  const { definition, type } = row.sink;
  const config = resolvePart(row.sink, tokensAt(new Date(marker.clock), marker.zone));
  const uri = definition.datasetUri(config);
  if (uri !== marker.sink_uri) {
    throw new RefusedError(
      'bad_config',
      `the run wrote to ${marker.sink_uri}, but row \`${row.id}\` now writes to ${uri}`,
      {
        hint: 'use the document the run was made with',
      },
    );
  }
  const { key } = definition.capabilities(config);
  if (marker.key !== undefined && !isSame([...marker.key], [...key])) {
    const [then, now] = [marker.key, key].map(
      (names) => names.map((name) => `\`${name}\``).join(', ') || 'nothing',
    );
    throw new RefusedError(
      'bad_config',
      `the run told rows apart by ${then}, but row \`${row.id}\` now does so by ${now}`,
      {
        hint: 'use the document the run was made with',
      },
    );
  }
  try {
    const sink = await definition.open(config, {
      ...partContext({ ...options, row }),
      role: 'main',
      runId: marker.run_id,
    });
    closers.defer(() => sink.close());
    if (sink.rollback !== undefined) return sink.rollback;
  } catch (error) {
    throw wrapConnectorError('Sink', type, error);
  }
  throw new RefusedError(
    'bad_config',
    `the sink \`${type}\` of row \`${row.id}\` cannot roll back a run with this config`,
    {
      hint: 'use the document the run was made with',
    },
  );
}
