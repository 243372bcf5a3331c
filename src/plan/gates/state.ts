import { STATE_KEY } from '../../kit/state-store.ts';
import type { IssueList } from '../issue-list.ts';
import { rowName, type PlannedRow } from '../planned-row.ts';

/** Bookmarks need a key the stores can hold, and a store that outlives the process. */
export function checkState({ draft, state, reads }: PlannedRow, stateKey: string, issues: IssueList): void {
  if (state === undefined) return;
  if (!STATE_KEY.test(stateKey)) {
    const path = draft.path === '' ? 'name' : draft.path;
    const hint = 'letters, digits and `_ - : . = & / %`, 1 to 256 of them, not starting with a dot';
    issues.error('invalid_state_key', path, `\`${stateKey}\` (pipeline name and row id) cannot be a state key`, hint);
  }
  if (!state.plan.definition.durable) {
    issues.warn('state_not_durable', state.plan.path, `the state store \`${state.plan.type}\` forgets everything when the process ends`);
  }
  if (reads?.bookmarks === false) {
    issues.warn('state_unused', state.plan.path, `the source of ${rowName(draft)} keeps no bookmarks, so there is nothing to store`);
  }
}
