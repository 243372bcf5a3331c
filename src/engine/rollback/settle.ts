/** The end of a rollback: the destination is as it was, and the state store follows. */
import type { SinkRollback } from '../../kit/rollback.ts';
import { Markers, type Marker, type MarkerStore } from './markers.ts';

export interface MarkedDestination {
  readonly state: MarkerStore;
  readonly stateKey: string;
  readonly rollback: SinkRollback;
}

/** May be repeated wherever it was interrupted. */
export async function settleRollback(
  { state, stateKey, rollback }: MarkedDestination,
  runId: string,
  marker: Marker | undefined,
): Promise<void> {
  const markers = new Markers(state, stateKey);
  if (marker !== undefined) {
    await markers.pullBack(marker);
    if (marker.bookmark_before === undefined) await state.delete(stateKey);
    else await state.put(stateKey, marker.bookmark_before);
  }
  await markers.removeUndone(runId);
  // A left-over note is harmless: the run has no marker any more.
  await rollback.forget([runId]).catch(() => {});
}

/**
 * Completes a rollback that was killed between the destination and the state store. One that had
 * not changed the destination is dropped.
 */
export async function settleInterrupted(
  destination: MarkedDestination,
): Promise<'settled' | 'dropped' | undefined> {
  const { state, stateKey, rollback } = destination;
  const markers = new Markers(state, stateKey);
  const { runs, undoing } = await markers.index();
  if (undoing === undefined) return undefined;
  if ((await rollback.applied(undoing)) === undefined) {
    await markers.putIndex({ runs });
    return 'dropped';
  }
  await settleRollback(destination, undoing, await markers.get(undoing));
  return 'settled';
}
