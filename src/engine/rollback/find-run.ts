/** Finds the run to roll back: the row that it belongs to, and what its state store knows of it. */
import { createCredentials } from '../../credentials/index.ts';
import type { Credentials } from '../../kit/context.ts';
import type { Parts } from '../../kit/parts.ts';
import type { StateStore } from '../../kit/state-store.ts';
import type { Env } from '../../lib/env.ts';
import { RefusedError } from '../../lib/errors.ts';
import type { JsonValue } from '../../lib/text/json.ts';
import type { Plan, PlannedRow } from '../../plan/plan.ts';
import { resolvePart, type RuntimeTokens } from '../../plan/resolve.ts';
import { wrapConnectorError } from '../failure.ts';
import { partContext } from '../row/parts.ts';
import { Markers, type Marker } from './markers.ts';

export interface RollbackOptions {
  readonly plan: Plan;
  readonly parts: Parts;
  readonly env: Env;
  /** Look at this row only. */
  readonly row?: string | undefined;
  readonly signal: AbortSignal;
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

export interface FoundRun {
  readonly row: PlannedRow;
  readonly state: StateStore;
  readonly marker: Marker;
}

export async function findRun(
  options: RollbackOptions & { readonly runId: string },
  closers: AsyncDisposableStack,
): Promise<FoundRun> {
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

export interface Opening {
  readonly env: Env;
  readonly plan: Plan;
  readonly invocationId: string;
  readonly kill: AbortSignal;
  readonly credentials: Credentials;
}

export function opening(
  { env, plan, parts, signal }: RollbackOptions,
  invocationId: string,
): Opening {
  return {
    env,
    plan,
    invocationId,
    kill: signal,
    credentials: createCredentials(parts.credentials, plan.auth, { env, signal }),
  };
}

export function tokensAt(date: Date, zone = 'UTC'): RuntimeTokens {
  return { now: { date, zone }, records: new Map<string, JsonValue>() };
}

/** The state store of a row that has one. */
export async function openState(
  options: Opening,
  row: PlannedRow,
  closers: AsyncDisposableStack,
): Promise<StateStore> {
  const { state } = row;
  if (state === undefined)
    throw new Error('cannot happen: nobody asks for the store of a row without one');
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
