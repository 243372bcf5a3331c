import { STATE_KEY } from '../../kit/state-store.ts';
import type { IssueList } from '../issue-list.ts';
import type { BlockPlanner } from '../plan-blocks.ts';
import { rowName, type AssembledRow } from '../assembled-row.ts';

/** Where the bookmark of a row is kept. */
export function stateKeyOf(name: string, row: string): string {
  return `${name}::${row}`;
}

const POSSIBLE =
  'possible are letters, digits and `_ - : . = & / %`, 256 characters at most, and no dot at the start';

/** Bookmarks need a key the stores can hold, and a store that outlives the process. */
export function checkState(
  { resolved, state }: AssembledRow,
  name: string,
  issues: IssueList,
): void {
  if (state === undefined) return;
  if (!STATE_KEY.test(name)) {
    issues.error(
      'invalid_state_key',
      'name',
      `the pipeline name \`${name}\` cannot be part of a state key`,
      POSSIBLE,
    );
  } else if (!STATE_KEY.test(stateKeyOf(name, resolved.id))) {
    issues.error(
      'invalid_state_key',
      resolved.path,
      `\`${stateKeyOf(name, resolved.id)}\` cannot be a state key`,
      POSSIBLE,
    );
  }
  if (!state.plan.definition.durable) {
    issues.warn(
      'state_not_durable',
      state.plan.path,
      `the state store \`${state.plan.type}\` forgets everything when the process ends`,
    );
  }
}

const ROWS_NAMED = 3;

/** Warns once for each store in which some rows store nothing, however many rows share it. */
export function warnAboutUnusedStates(
  rows: readonly AssembledRow[],
  blocks: BlockPlanner,
  issues: IssueList,
): void {
  if (blocks.everyRowUsesState()) return;
  const idle = rows.filter((row) => row.state !== undefined && keepsNothing(row, blocks));
  for (const [path, sharing] of Map.groupBy(idle, ({ state }) => state?.plan.path ?? '')) {
    const names = sharing.map(({ resolved }) => rowName(resolved));
    const more = names.length - ROWS_NAMED;
    const told = names.slice(0, ROWS_NAMED).join(', ') + (more > 0 ? ` and ${more} more` : '');
    const which =
      names.length === 1 ? `the source of ${told} keeps` : `the sources of ${told} keep`;
    issues.warn('state_unused', path, `${which} no bookmarks, so there is nothing to store`);
  }
}

function keepsNothing(row: AssembledRow, blocks: BlockPlanner): boolean {
  return (
    row.reads?.bookmarks === false &&
    !blocks.ofRow(row).some(({ definition, prepared }) => definition.usesState?.(prepared) === true)
  );
}
