import { readsShares } from '../../kit/share.ts';
import { capabilitiesOf } from '../../kit/source.ts';
import type { PlannedRow } from '../../plan/plan.ts';
import type { Fact } from '../define-block.ts';

export function explainState(row: PlannedRow): readonly Fact[] {
  const short =
    row.state === undefined
      ? 'none: every run starts over'
      : `${row.state.type}, key ${row.stateKey}`;
  return [{ topic: 'state', short, words: resumes(row) }];
}

function resumes(row: PlannedRow): string {
  const { source, state, stateKey } = row;
  const reads =
    source.judged === undefined
      ? undefined
      : capabilitiesOf(source.definition, source.judged, readsShares(row.shard));
  if (reads?.unbounded?.redelivery === 'upstream')
    return 'The next run goes on where this one stops: the other side delivers again what was not acknowledged.';
  if (state === undefined) return 'Every run starts from the beginning: there is no state store.';
  if (reads === undefined)
    return `If the source keeps a bookmark, ${state.type} stores it under ${stateKey}, and the next run goes on there.`;
  if (reads.bookmarks)
    return `The next run goes on where this one stops; ${state.type} keeps the bookmark under ${stateKey}.`;
  return `Every run starts from the beginning: the source keeps no bookmark, although there is a state store (${state.type}).`;
}
