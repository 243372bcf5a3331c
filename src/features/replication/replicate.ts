/**
 * A table and then its changes. What is remembered, in this order: the position of the change log,
 * which is the bookmark of the row from then on; that the snapshot is under way; that it is done.
 * After a kill at any moment the next run goes on with what is left.
 */
import type { HitFailpoint } from '../../engine/failpoints.ts';
import { removeState } from '../../engine/delivery/remove-state.ts';
import { fenceOfLease, type ExecutionFence } from '../../engine/row/execution-fence.ts';
import { releaseLease, takeLease, type StateLease } from '../../engine/row/state-lease.ts';
import type { StateStore } from '../../kit/state-store.ts';
import type { Env } from '../../lib/env.ts';
import type { JsonValue } from '../../lib/text/json.ts';
import type { Plan, PlannedRow } from '../../plan/plan.ts';
import type { RunOutcome } from '../../wire/outcome.ts';
import { markerKey, markerValue, readMarker, type Marker } from './marker.ts';
import { withAnchor } from './snapshot-plan.ts';

export interface Replication {
  readonly env: Env;
  readonly runId: string;
  /** Reads the changes. */
  readonly plan: Plan;
  readonly row: PlannedRow;
  /** Reads the rows. */
  readonly snapshot: Plan;
  readonly store: StateStore;
  /** Whether changes are read until it is stopped. */
  readonly continuous: boolean;
  /** Takes the snapshot again, from a new position. */
  readonly restart: boolean;
  readonly signal: AbortSignal;
  readonly anchors: AnchorsOfRow;
  /** Never rejects. The fence is asked before anything is written. */
  execute(this: void, plan: Plan, fence: ExecutionFence): Promise<RunOutcome>;
  onHalf?(this: void, news: HalfNews): void;
  readonly hitFailpoint?: HitFailpoint | undefined;
}

/** The positions of the source, and what is stored for the row so that it begins at one. */
export interface AnchorsOfRow {
  take(): Promise<JsonValue>;
  /** Throws when changes behind it can no longer be read. */
  check(anchor: JsonValue): Promise<void>;
  /** The state of the row with which its next run begins there, whatever it did before. */
  stateAt(anchor: JsonValue, stored: JsonValue | undefined): Promise<JsonValue>;
}

export type HalfNews =
  | { readonly half: 'snapshot'; readonly resumed: boolean; readonly anchor: JsonValue }
  | { readonly half: 'stream'; readonly snapshot: RunOutcome | undefined }
  | { readonly half: 'cycle'; readonly stream: RunOutcome };

export interface ReplicationResult {
  readonly phase: Marker['phase'];
  readonly status: RunOutcome['status'];
  readonly anchor: JsonValue;
  /** `undefined` when the rows were all there before. */
  readonly snapshot: RunOutcome | undefined;
  /** The last run that read changes. */
  readonly stream: RunOutcome | undefined;
  readonly streamRuns: number;
  readonly streamWritten: number;
}

/** Rejects when it cannot begin or go on; a half that fails is in the result. */
export async function replicate(replication: Replication): Promise<ReplicationResult> {
  const { env, plan, row, runId, store } = replication;
  const key = markerKey(plan.name);
  const conflict = (holder: string): string =>
    `this replication is carried out by ${holder}: two at once would write the same records`;
  const afterLoss = 'the other one goes on with this replication';
  const lease = await takeLease({ env, plan, row, runId, conflict, afterLoss }, store, key);
  try {
    return await halves(replication, key, lease);
  } finally {
    await releaseLease(lease, env.log);
  }
}

async function halves(
  replication: Replication,
  key: string,
  lease: StateLease,
): Promise<ReplicationResult> {
  const { store, restart, anchors, onHalf } = replication;
  const found = restart ? undefined : readMarker(key, await store.get(key));
  if (found?.phase === 'snapshot') await anchors.check(found.anchor);
  const marker = found ?? (await begin(replication, key, lease));
  const { anchor } = marker;
  const nothing = { stream: undefined, streamRuns: 0, streamWritten: 0 };
  let snapshot: RunOutcome | undefined;
  if (marker.phase === 'snapshot') {
    onHalf?.({ half: 'snapshot', resumed: found !== undefined, anchor });
    snapshot = await takeSnapshot(replication, { key, marker, lease });
    const { status } = snapshot;
    if (status !== 'completed') return { phase: 'snapshot', status, anchor, snapshot, ...nothing };
  }
  onHalf?.({ half: 'stream', snapshot });
  return { phase: 'stream', anchor, snapshot, ...(await streamChanges(replication, lease)) };
}

/** A kill before the last step leaves nothing that the next beginning would use. */
async function begin(
  { row, runId, plan, env, store, anchors, hitFailpoint }: Replication,
  key: string,
  lease: StateLease,
): Promise<Marker> {
  const own = await takeLease({ env, plan, row, runId }, store, row.stateKey);
  try {
    // A snapshot that is taken again must not look finished meanwhile.
    await removeState({ store: lease, env, labels: { pipeline: plan.name, row: row.id } }, key);
    const anchor = await anchors.take();
    hitFailpoint?.('after_anchor');
    const state = await anchors.stateAt(anchor, await store.get(row.stateKey));
    await own.put(row.stateKey, state);
    hitFailpoint?.('after_anchor_stored');
    const marker: Marker = {
      phase: 'snapshot',
      anchor,
      started_at: env.clock.now().toISOString(),
    };
    await lease.put(key, markerValue(marker));
    hitFailpoint?.('after_phase');
    return marker;
  } finally {
    await releaseLease(own, env.log);
  }
}

interface Snapshotting {
  readonly key: string;
  readonly marker: Marker;
  readonly lease: StateLease;
}

/** Its bookmark is needed until it is known to be done. */
async function takeSnapshot(
  { env, store, execute, snapshot, hitFailpoint }: Replication,
  { key, marker, lease }: Snapshotting,
): Promise<RunOutcome> {
  const plan = withAnchor(snapshot, marker.anchor);
  const outcome = await execute(plan, fenceOfLease({ lease, clock: env.clock }));
  if (outcome.status !== 'completed') return outcome;
  const finished = env.clock.now().toISOString();
  await lease.put(key, markerValue({ ...marker, phase: 'stream', snapshot_finished_at: finished }));
  hitFailpoint?.('after_phase');
  for (const { id, stateKey } of plan.rows)
    await removeState({ store, env, labels: { pipeline: plan.name, row: id } }, stateKey);
  return outcome;
}

type Streamed = Pick<ReplicationResult, 'status' | 'stream' | 'streamRuns' | 'streamWritten'>;

/** A run of the changes ends when there are none for a while; the next one waits for more. */
async function streamChanges(
  { env, continuous, signal, plan, execute, onHalf }: Replication,
  lease: StateLease,
): Promise<Streamed> {
  let [streamRuns, streamWritten] = [0, 0];
  const fence = fenceOfLease({ lease, clock: env.clock });
  for (;;) {
    await fence.assertOwned();
    const stream = await execute(plan, fence);
    streamRuns += 1;
    streamWritten += stream.records_written;
    onHalf?.({ half: 'cycle', stream });
    // A stop between two runs is one, too.
    const status = stream.status === 'completed' && signal.aborted ? 'cancelled' : stream.status;
    if (status !== 'completed' || !continuous) return { status, stream, streamRuns, streamWritten };
  }
}
