import { STATE_KEY } from '../../kit/state-store.ts';
import type { AssembledRow } from '../../plan/assembled-row.ts';
import type { AssembledRows, RowPlace } from '../define-block.ts';

const POSSIBLE =
  'possible are letters, digits and `_ - : . = & / %`, 256 characters at most, and no dot at the start';

/** Bookmarks need a key the stores can hold, and a store that outlives the process. */
export function checkState(
  { resolved, state, stateKey }: AssembledRow,
  { pipeline, issues }: RowPlace,
): void {
  if (state === undefined) return;
  if (!STATE_KEY.test(pipeline)) {
    issues.error(
      'invalid_state_key',
      'name',
      `the pipeline name \`${pipeline}\` cannot be part of a state key`,
      POSSIBLE,
    );
  } else if (!STATE_KEY.test(stateKey)) {
    issues.error(
      'invalid_state_key',
      resolved.path,
      `\`${stateKey}\` cannot be a state key`,
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
  { issues, storesMore }: AssembledRows,
): void {
  const idle = rows.filter(
    (row) => row.state !== undefined && row.reads?.bookmarks === false && !storesMore(row),
  );
  for (const [path, sharing] of Map.groupBy(idle, ({ state }) => state?.plan.path ?? '')) {
    const names = sharing.map(({ name }) => name);
    const more = names.length - ROWS_NAMED;
    const listed = names.slice(0, ROWS_NAMED).join(', ') + (more > 0 ? ` and ${more} more` : '');
    const which =
      names.length === 1 ? `the source of ${listed} keeps` : `the sources of ${listed} keep`;
    issues.warn(
      'state_unused',
      path,
      `${which} no bookmarks, so there is nothing to store`,
      'remove `state`, or let the source read incrementally where it can',
    );
  }
}
