/** One row: its parts are found and parsed, the rules judge them, and the lane is chosen. */
import type { SinkDefinition } from '../kit/sink.ts';
import { capabilitiesOf, type SourceDefinition } from '../kit/source.ts';
import type { TransformDefinition } from '../kit/transform.ts';
import { checkAuthRef } from './rules/auth.ts';
import { checkTokens, checkTokensAt, collectedOf, parentLinkOf } from './rules/row-tokens.ts';
import { checkWriteMode } from './rules/write-mode.ts';
import type { ValueList } from './for-each.ts';
import { chooseLane } from './lane.ts';
import { grantedTokens, plannedBlocks, tokensInBlocks } from './plan-blocks.ts';
import { plainPart } from './resolve-part.ts';
import type { AssembledPart } from './plan-part.ts';
import type { PlannedRow } from './plan.ts';
import type { RowContext } from './row-context.ts';
import { rowName, type AssembledRow } from './assembled-row.ts';
import type { ResolvedRow } from './resolved-row.ts';

/**
 * Finds and parses the parts of a row; `undefined` when its source or sink cannot be known. A sink
 * node reads from a graph.
 */
export function planRowParts(
  resolved: ResolvedRow,
  context: RowContext,
  graph?: AssembledPart<SourceDefinition>,
): AssembledRow | undefined {
  const { parts, planner, blocks, issues } = context;
  for (const part of [resolved.source, resolved.sink])
    if (part !== undefined) checkAuthRef(part, blocks, issues);
  const source =
    resolved.source === undefined
      ? graph
      : planner.plan<SourceDefinition>(resolved.source, parts.sources, 'source');
  const sink =
    resolved.sink === undefined
      ? undefined
      : planner.plan<SinkDefinition>(resolved.sink, parts.sinks, 'sink');
  const transforms = resolved.transforms.map((entry) =>
    planner.plan<TransformDefinition>(plainPart(entry), parts.transforms, 'transform'),
  );
  const members = context.blockPlanner.assemble(resolved);
  if (source === undefined || sink === undefined) return undefined;
  const isCut = resolved.cuts.length > 0;
  const isShared = resolved.cuts.some(({ isInShares }) => isInShares === true);
  return context.blockPlanner.conclude({
    ...members,
    resolved,
    name: rowName(resolved),
    stateKey: `${context.name}::${resolved.id}`,
    source,
    sink,
    transforms: transforms.filter((transform) => transform !== undefined),
    reads: judge(source, (config) => capabilitiesOf(source.plan.definition, config, isShared)),
    writes: judge(sink, (config) => sink.plan.definition.capabilities(config)),
    isCut,
    runsOnce: resolved.parent === undefined && resolved.forEach.length === 0 && !isCut,
  });
}

function judge<D, T>(part: AssembledPart<D>, capabilities: (config: unknown) => T): T | undefined {
  return part.judged === undefined ? undefined : capabilities(part.judged);
}

export interface RowPlanning extends RowContext {
  readonly ids: readonly string[];
  readonly lists: ReadonlyMap<string, ValueList>;
  /** Rows that run for the records of this one. */
  readonly children: readonly string[];
}

export function finishRow(row: AssembledRow, planning: RowPlanning): PlannedRow {
  const { issues, blockPlanner, ids, lists, definitions } = planning;
  const { resolved } = row;
  const scope = {
    owner: row.name,
    parent: resolved.parent?.row,
    forEach: resolved.forEach,
    granted: grantedTokens(planning, resolved.blocks),
    definitions,
    ids,
    lists,
  };
  checkTokens(
    {
      resolved: resolved.source,
      tokens: row.source.tokens,
      own: row.source.plan.definition.ownTokens,
    },
    scope,
    issues,
  );
  checkTokens({ resolved: resolved.sink, tokens: row.sink.tokens, own: undefined }, scope, issues);
  checkWriteMode(row, issues);
  const own = blockPlanner.ofRow(row);
  blockPlanner.checkRow(row, own);
  const uses = tokensInBlocks(definitions, resolved.blocks);
  for (const { path, tokens } of uses) checkTokensAt(tokens, path, scope, issues);
  const filledIn = uses.filter(({ isFilledIn }) => isFilledIn).flatMap(({ tokens }) => tokens);
  return Object.freeze({
    ...blockPlanner.membersOfRow(row),
    id: resolved.id,
    index: resolved.index,
    role:
      resolved.forEach.length > 0 ? 'product' : resolved.parent === undefined ? 'root' : 'child',
    parent: parentLinkOf(row, filledIn),
    dependsOn: resolved.dependsOn,
    forEach: resolved.forEach,
    collected: collectedOf([row.source, row.sink], lists),
    source: row.source.plan,
    sink: row.sink.plan,
    transforms: row.transforms.map((transform) => transform.plan),
    blocks: plannedBlocks(own),
    lane: chooseLane(row, { children: planning.children, own }),
    stateKey: row.stateKey,
    weight: resolved.weight,
    tags: resolved.tags,
    status: resolved.status,
  });
}
