/** What a document must be like for past ranges of time to be run again. */
import { WINDOW_TOKENS } from '../../document/ranges/windows.ts';
import { findTokens } from '../../document/tokens/find-tokens.ts';
import { joinPath } from '../../lib/text/text-path.ts';
import type { Plan, PlannedRow, PlannedSource } from '../../plan/plan.ts';
import type { BlockPlace, GrantedTokens, PlanInMaking } from '../define-block.ts';

/** What a unit of a backfill fills in for `${backfill.<name>}`. */
export const UNIT_TOKENS: GrantedTokens = {
  names: [...WINDOW_TOKENS, 'unit'],
  unknown: (body) => `a unit of a backfill has no \`\${${body}}\``,
};

/** A source that reads by itself: of a row without a parent, or of a source node. */
export interface RootSource {
  readonly id: string;
  readonly source: PlannedSource;
}

export function rootSources({
  rows,
  topology,
}: Pick<Plan, 'rows' | 'topology'>): readonly RootSource[] {
  if (topology === undefined) return rows.filter(({ role }) => role !== 'child');
  return topology.nodes.filter((node) => node.kind === 'source');
}

/** Those that would read the same whatever the window. */
export function unscopedSources(plan: Pick<Plan, 'rows' | 'topology'>): readonly RootSource[] {
  return rootSources(plan).filter(
    ({ source }) => !findTokens(source.config).some(({ token }) => isWindowed(token)),
  );
}

/**
 * Rows that would remove what the other windows hold: every unit reads one window, and the scope
 * covers all of them.
 */
export function unscopedCleanUps({ rows }: Pick<Plan, 'rows'>): readonly PlannedRow[] {
  return rows.filter(
    ({ role, cleanUp }) =>
      role !== 'child' && cleanUp?.tokens.some(({ token }) => isWindowed(token)) === false,
  );
}

function isWindowed(token: ReturnType<typeof findTokens>[number]['token']): boolean {
  return token.kind === 'now' || (token.kind === 'path' && token.root === 'backfill');
}

/** Of the rows that run: the others are not asked for a window. */
export function checkBackfill({ chosen, topology }: PlanInMaking, { issues }: BlockPlace): void {
  const plan = { rows: chosen, ...(topology === undefined ? {} : { topology }) };
  for (const { id, source } of unscopedSources(plan)) {
    const what = topology === undefined ? 'row' : 'source node';
    const message = `every unit of a backfill would read the same: the source of ${what} \`${id}\` names no window`;
    issues.error('backfill_unscoped', joinPath(source.path, 'config'), message, SCOPING_HINT);
  }
  for (const row of unscopedCleanUps(plan))
    issues.error('clean_up_unsafe', row.cleanUp?.path ?? '', cleanUpFault([row]), CLEAN_UP_HINT);
}

export function cleanUpFault(rows: readonly PlannedRow[]): string {
  const named = rows.map(({ id }) => `\`${id}\``).join(', ');
  return `every unit of a backfill would remove what the other windows hold: \`complete_for.scope\` of row ${named} names no window`;
}

export const SCOPING_HINT =
  'use `${backfill.start}` and `${backfill.end}`, or `${now.date}`, in the `config` of the source';
export const CLEAN_UP_HINT =
  'name the window in the scope, e.g. `day: "${backfill.start_date}"`, or set `on_missing: ignore` in the document of the backfill';
