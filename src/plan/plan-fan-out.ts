import type { SourceDefinition } from '../kit/source.ts';
import { checkAuthRef } from './rules/auth.ts';
import { checkTokens, collectedOf } from './rules/row-tokens.ts';
import type { ValueList } from './for-each.ts';
import { grantedTokens, isQuarantining } from './plan-blocks.ts';
import type { ResolvedFanOut } from './resolve-fan-out.ts';
import type { RowContext } from './row-context.ts';
import type { FanOutPlan } from './plan.ts';

interface FanOutPlanning extends RowContext {
  readonly ids: readonly string[];
  readonly lists: ReadonlyMap<string, ValueList>;
  readonly retry: FanOutPlan['retry'];
}

/** `undefined` when its source cannot be known. */
export function planFanOut(
  resolved: ResolvedFanOut,
  planning: FanOutPlanning,
): FanOutPlan | undefined {
  const { blocks, parts, planner, issues, ids, lists, retry, definitions } = planning;
  if (resolved.source === undefined) return undefined;
  checkAuthRef(resolved.source, blocks, issues);
  const source = planner.plan<SourceDefinition>(resolved.source, parts.sources, 'source');
  if (source === undefined) return undefined;
  const scope = {
    owner: `the fan-out row \`${resolved.id}\``,
    parent: undefined,
    forEach: resolved.forEach,
    granted: grantedTokens(planning, new Map()),
    definitions,
    ids,
    lists,
  };
  checkTokens(
    { resolved: resolved.source, tokens: source.tokens, own: source.plan.definition.ownTokens },
    scope,
    issues,
  );
  if (isQuarantining(source))
    issues.error(
      'dlq_required',
      source.plan.path,
      `\`${source.plan.type}\` sends records to the dead-letter queue, but fan-out row \`${resolved.id}\` writes nothing and has none`,
      'use `on_error: error`: without all its values the row would run for too few',
    );
  const { id, index, dependsOn, forEach, collect, select, alias, weight, tags, status } = resolved;
  return Object.freeze({
    role: 'discovery',
    id,
    index,
    dependsOn,
    forEach,
    collected: collectedOf([source], lists),
    collect,
    source: source.plan,
    select,
    alias,
    retry,
    weight,
    tags,
    status,
  });
}
