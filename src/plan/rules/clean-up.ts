/** Rules about rows that vanished at the source (`complete_for`). */
import { joinPath } from '../../lib/text/text-path.ts';
import type { IssueList } from '../issue-list.ts';
import type { CleanUpPlan } from '../plan.ts';
import { quarantining, type RowBlock } from '../plan-blocks.ts';
import type { AssembledRow } from '../assembled-row.ts';
import { findTokens } from '../run-time-tokens.ts';
import { checkTokensAt, type TokenScope } from './row-tokens.ts';

/**
 * `undefined` where vanished rows stay. Removing is refused wherever a row could only seem to have
 * vanished.
 */
export function planCleanUp(
  row: AssembledRow,
  own: readonly RowBlock[],
  scope: TokenScope,
  issues: IssueList,
): CleanUpPlan | undefined {
  const { completeFor } = row.resolved;
  if (completeFor === undefined) return undefined;
  const place = joinPath(completeFor.path, 'scope');
  const tokens = findTokens(completeFor.value.scope);
  checkTokensAt(tokens, place, scope, issues);
  if (completeFor.value.on_missing !== 'delete') return undefined;
  const limit = limitOf(row, own);
  if (limit !== undefined) {
    const [message, hint] = limit;
    issues.error(
      'clean_up_unsafe',
      joinPath(completeFor.path, 'on_missing'),
      `vanished rows cannot be removed: ${message}`,
      hint,
    );
  }
  return { path: place, scope: completeFor.value.scope, tokens };
}

type Limit = readonly [message: string, hint: string];

function limitOf(
  { resolved, writes, sink, isCut }: AssembledRow,
  own: readonly RowBlock[],
): Limit | undefined {
  const keep = 'use `on_missing: ignore`, or change that';
  if (writes !== undefined && (writes.writeMode !== 'upsert' || writes.key.length === 0)) {
    return [
      'they are identified by their key, and the sink has none',
      'give the sink `write_mode: upsert` and a `key`',
    ];
  }
  if (writes !== undefined && writes.sweep !== true)
    return [`the sink \`${sink.plan.type}\` offers no way to do it`, 'use `on_missing: ignore`'];
  if (resolved.delivery === 'exactly_once')
    return [
      'the row delivers `exactly_once`',
      'use `at_least_once`: an upsert makes repeats harmless',
    ];
  if (isCut) return ['the row is cut into parts, and none of them sees everything', keep];
  const [first] = quarantining(own);
  return first === undefined
    ? undefined
    : [`a record that \`${first.definition.name}\` keeps aside has not vanished`, keep];
}
