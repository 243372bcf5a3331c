/** Which rows can be undone, and what they lack that cannot. */
import { STATE_KEY } from '../../kit/state-store.ts';
import type { AssembledRow } from '../../plan/assembled-row.ts';
import type { BlockPlace } from '../define-block.ts';
import type { RollbackConfig } from './schema.ts';

/** How invocations are kept undoable. */
export interface RollbackPlan {
  /** Holds the invocation id. */
  readonly column: string;
  /** Whether keyed writes keep what they change. */
  readonly journal: boolean;
  /** Whether an overwrite keeps what it replaces. */
  readonly keepPrevious: boolean;
  /** Invocations that can be undone at a time. */
  readonly retain: number;
}

const LONGEST_KEY = 256;
/**
 * What stands behind the state key of a row where its runs are kept: `::__rollback__::` and an
 * invocation id.
 */
const MARKER_CHARS = '::__rollback__::'.length + 36;

/** A row that runs several times is only marked. */
export function planRollback(
  { journal, keep_previous: keepPrevious, retain }: RollbackConfig,
  { runIdColumn: column, runsOnce }: AssembledRow,
): RollbackPlan | undefined {
  return column === undefined || !runsOnce ? undefined : { column, journal, keepPrevious, retain };
}

export function checkRollback(
  { column }: RollbackPlan,
  row: AssembledRow,
  { path, issues }: BlockPlace,
): void {
  const limit = limitOf(row, column);
  if (limit !== undefined) {
    const [message, hint] = limit;
    issues.error(
      'rollback_unreachable',
      path,
      `runs of ${row.name} cannot be undone: ${message}`,
      hint,
    );
  }
  const { stateKey } = row;
  if (STATE_KEY.test(stateKey) && stateKey.length + MARKER_CHARS > LONGEST_KEY) {
    const message = `\`${stateKey}\` is too long: with \`rollback\` a state key has ${LONGEST_KEY - MARKER_CHARS} characters at most`;
    issues.error(
      'invalid_state_key',
      row.resolved.path,
      message,
      'choose a shorter name for the pipeline or the row',
    );
  }
}

type Limit = readonly [message: string, hint: string];

/** The first thing that is missing. */
function limitOf(
  { resolved, writes, sink, state }: AssembledRow,
  column: string,
): Limit | undefined {
  if (resolved.node !== undefined) {
    return [
      'its source feeds other nodes too, and the position of one alone cannot be put back',
      'use rows instead of nodes',
    ];
  }
  if (writes !== undefined && writes.rollback !== true) {
    return [
      `its sink \`${sink.plan.type}\` ${writes.rollback ?? 'offers no way to do it'}`,
      '`postgres` and `sqlite` with `column_mapping: auto_map` can',
    ];
  }
  if (writes?.key.includes(column) === true) {
    return [
      `\`${column}\`, which holds the id of the run, is a part of the \`key\``,
      'change `metadata_columns.prefix`, or the `key`',
    ];
  }
  if (state === undefined)
    return [
      'it has no `state` to remember them in',
      'add a durable `state`, e.g. `{type: file, config: {path: state}}`',
    ];
  if (state.plan.definition.durable) return undefined;
  return [
    `its state store \`${state.plan.type}\` forgets them when the process ends`,
    'use a durable one, e.g. `file`',
  ];
}
