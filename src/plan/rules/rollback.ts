/** Which rows can be undone, and what they lack that cannot (`rollback`, spec 2.13). */
import {
  metadataColumnsOf,
  type MetadataColumnsSpec,
  type NamedColumn,
} from '../../blocks/metadata-columns/schema.ts';
import type { RollbackConfig } from '../../blocks/rollback/schema.ts';
import { STATE_KEY } from '../../kit/state-store.ts';
import { isCut } from '../cut.ts';
import type { IssueList } from '../issue-list.ts';
import type { RollbackPlan, RowPlan } from '../plan.ts';
import { rowName, type AssembledRow } from '../assembled-row.ts';

const DEFAULT_PREFIX = '_svc';
/**
 * What stands behind the state key of a row where its runs are kept: `::__rollback__::` and an
 * invocation id.
 */
const MARKER_CHARS = '::__rollback__::'.length + 36;

/** The columns every record gets: with `rollback` the id of the run is among them. */
export function stampedColumns(
  metadata: MetadataColumnsSpec | undefined,
  rollback: RollbackConfig | undefined,
  issues: IssueList,
): readonly NamedColumn[] | undefined {
  const columns = metadata === undefined ? undefined : metadataColumnsOf(metadata);
  if (rollback?.enabled !== true) return columns;
  if (metadata?.enabled === false) {
    const message =
      '`rollback` finds the rows of a run by its id, which `metadata_columns` is told not to add';
    issues.error(
      'rollback_unreachable',
      'metadata_columns.enabled',
      message,
      'remove `enabled: false`, or `rollback`',
    );
  }
  if (columns?.some(({ column }) => column === 'run_id') === true) return columns;
  return [
    ...(columns ?? []),
    { column: 'run_id', name: `${metadata?.prefix ?? DEFAULT_PREFIX}_run_id` },
  ];
}

/**
 * `undefined` where runs are not undone: the row is not asked for, or runs several times and is
 * only marked.
 */
export function planRollback(
  row: AssembledRow,
  {
    rollback,
    columns,
    stateKey,
  }: {
    rollback: RollbackConfig | undefined;
    columns: RowPlan['metadataColumns'];
    stateKey: string;
  },
  issues: IssueList,
): RollbackPlan | undefined {
  const column = columns?.find((one) => one.column === 'run_id')?.name;
  if (rollback?.enabled !== true || column === undefined || runsSeveralTimes(row)) return undefined;
  const limit = limitOf(row, column);
  if (limit !== undefined) {
    const [message, hint] = limit;
    issues.error(
      'rollback_unreachable',
      'rollback',
      `runs of ${rowName(row.resolved)} cannot be undone: ${message}`,
      hint,
    );
  }
  if (STATE_KEY.test(stateKey) && stateKey.length + MARKER_CHARS > LONGEST_KEY) {
    const message = `\`${stateKey}\` is too long: with \`rollback\` a state key has ${LONGEST_KEY - MARKER_CHARS} characters at most`;
    issues.error(
      'invalid_state_key',
      row.resolved.path,
      message,
      'choose a shorter name for the pipeline or the row',
    );
  }
  return {
    column,
    journal: rollback.journal,
    keepPrevious: rollback.keep_previous,
    retain: rollback.retain,
  };
}

const LONGEST_KEY = 256;

function runsSeveralTimes({ resolved }: AssembledRow): boolean {
  return resolved.parent !== undefined || resolved.forEach.length > 0 || isCut(resolved);
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
