import { STATE_KEY } from '../../kit/state-store.ts';
import { needsHistory } from '../../document/blocks/sla.ts';
import type { IssueList } from '../issue-list.ts';
import { rowName, type PlannedRow } from '../planned-row.ts';

/** Where the bookmark of a row is kept. */
export function stateKeyOf(name: string, row: string): string {
  return `${name}::${row}`;
}

const POSSIBLE = 'possible are letters, digits and `_ - : . = & / %`, 256 characters at most, and no dot at the start';

/** Bookmarks need a key the stores can hold, and a store that outlives the process. */
export function checkState({ draft, state, reads }: PlannedRow, name: string, issues: IssueList): void {
  if (state === undefined) return;
  if (!STATE_KEY.test(name)) {
    issues.error('invalid_state_key', 'name', `the pipeline name \`${name}\` cannot be part of a state key`, POSSIBLE);
  } else if (!STATE_KEY.test(stateKeyOf(name, draft.id))) {
    issues.error('invalid_state_key', draft.path, `\`${stateKeyOf(name, draft.id)}\` cannot be a state key`, POSSIBLE);
  }
  if (!state.plan.definition.durable) {
    issues.warn('state_not_durable', state.plan.path, `the state store \`${state.plan.type}\` forgets everything when the process ends`);
  }
  const isHistory = draft.sla !== undefined && needsHistory(draft.sla.value);
  if (reads?.bookmarks === false && !isHistory) {
    issues.warn('state_unused', state.plan.path, `the source of ${rowName(draft)} keeps no bookmarks, so there is nothing to store`);
  }
}
