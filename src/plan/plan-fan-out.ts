import type { SourceDefinition } from '../kit/source.ts';
import { checkAuthRef } from './rules/auth.ts';
import { checkTokens, collectedOf } from './rules/row-tokens.ts';
import type { ValueList } from './for-each.ts';
import type { FanOutDraft } from './fan-out-draft.ts';
import type { RowContext } from './plan-row.ts';
import type { FanOutPlan, RowPlan } from './plan.ts';

interface FanOutSetting extends RowContext {
  readonly ids: readonly string[];
  readonly lists: ReadonlyMap<string, ValueList>;
  readonly retry: RowPlan['retry'];
}

/** `undefined` when its source cannot be known. */
export function planFanOut(draft: FanOutDraft, setting: FanOutSetting): FanOutPlan | undefined {
  const { blocks, parts, planner, issues, ids, lists, retry, backfill } = setting;
  if (draft.source === undefined) return undefined;
  checkAuthRef(draft.source, blocks, issues);
  const source = planner.plan<SourceDefinition>(draft.source, parts.sources, 'source');
  if (source === undefined) return undefined;
  const scope = {
    owner: `the fan-out row \`${draft.id}\``,
    parent: undefined,
    forEach: draft.forEach,
    partition: undefined,
    backfill,
    ids,
    lists,
  };
  checkTokens(
    { draft: draft.source, tokens: source.tokens, own: source.plan.definition.ownTokens },
    scope,
    issues,
  );
  const { id, index, dependsOn, forEach, collect, select, alias, weight, tags, status } = draft;
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
