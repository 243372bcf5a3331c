import type { PlannedRow } from '../../plan/plan.ts';
import type { Fact } from '../define-block.ts';

export function explainState(row: PlannedRow): readonly Fact[] {
  const short =
    row.state === undefined
      ? 'none: every run starts over'
      : `${row.state.type}, key ${row.stateKey}`;
  return [{ topic: 'state', short, words: resumes(row) }];
}

function resumes({ source, state, stateKey }: PlannedRow): string {
  if (state === undefined) return 'Every run starts from the beginning: there is no state store.';
  const bookmarks =
    source.judged === undefined
      ? undefined
      : source.definition.capabilities(source.judged).bookmarks;
  if (bookmarks === undefined)
    return `If the source keeps a bookmark, ${state.type} stores it under ${stateKey}, and the next run goes on there.`;
  if (bookmarks)
    return `The next run goes on where this one stops; ${state.type} keeps the bookmark under ${stateKey}.`;
  return `Every run starts from the beginning: the source keeps no bookmark, although there is a state store (${state.type}).`;
}
