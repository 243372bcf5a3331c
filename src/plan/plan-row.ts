/** One row: its parts are found and parsed, the gates judge them, and the lane is chosen. */
import type { SinkDefinition } from '../kit/sink.ts';
import type { SourceDefinition } from '../kit/source.ts';
import type { StateStoreDefinition } from '../kit/state-store.ts';
import type { TransformDefinition } from '../kit/transform.ts';
import type { JsonObject } from '../lib/text/json.ts';
import { joinPath } from '../lib/text/text-path.ts';
import type { DlqSpec } from '../blocks/dlq/schema.ts';
import type { Placed } from '../document/parse/read-blocks.ts';
import { checkAuthRef } from './rules/auth.ts';
import { planCleanUp } from './rules/clean-up.ts';
import { checkDeadLetters } from './rules/dead-letters.ts';
import { checkDelivery, guaranteeOf } from './rules/delivery.ts';
import { checkPartition } from './rules/partition.ts';
import { checkTokens, collectedOf, parentLinkOf } from './rules/row-tokens.ts';
import { checkShard } from './rules/shard.ts';
import { checkState, stateKeyOf } from './rules/state.ts';
import { checkWriteMode } from './rules/write-mode.ts';
import type { ValueList } from './for-each.ts';
import type { IssueList } from './issue-list.ts';
import { isCut } from './cut.ts';
import { chooseLane } from './lane.ts';
import { plannedBlocks, type BlockPlanner } from './plan-blocks.ts';
import { plainPart } from './resolve-part.ts';
import { checkAdaptiveBatch } from './rules/adaptive-batch.ts';
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
  const state =
    resolved.state === undefined
      ? undefined
      : planner.plan<StateStoreDefinition>(plainPart(resolved.state), parts.states, 'state store');
  const dlq = resolved.dlq === undefined ? undefined : planDlq(resolved.dlq, context);
  if (source === undefined || sink === undefined) return undefined;
  const cut = isCut(resolved);
  const row = {
    resolved,
    name: rowName(resolved),
    stateKey: stateKeyOf(context.name, resolved.id),
    source,
    sink,
    transforms: transforms.filter((transform) => transform !== undefined),
    state,
    dlq,
    reads: judge(source, (config) => source.plan.definition.capabilities(config)),
    writes: judge(sink, (config) => sink.plan.definition.capabilities(config)),
    isCut: cut,
    runsOnce: resolved.parent === undefined && resolved.forEach.length === 0 && !cut,
    runIdColumn: context.metadataColumns?.find(({ column }) => column === 'run_id')?.name,
  };
  return { ...row, guarantee: guaranteeOf(row) };
}

function judge<D, T>(part: AssembledPart<D>, capabilities: (config: unknown) => T): T | undefined {
  return part.judged === undefined ? undefined : capabilities(part.judged);
}

function planDlq(
  { path, value }: Placed<DlqSpec>,
  { planner, parts }: RowContext,
): AssembledRow['dlq'] {
  const written = plainPart({ path: joinPath(path, 'sink'), value: value.sink });
  const sink = planner.plan<SinkDefinition>(
    { ...written, config: appending(written.config) },
    parts.sinks,
    'sink',
  );
  return sink === undefined ? undefined : { spec: value, path, sink };
}

/** A dead-letter queue always appends, whatever the config of its sink is. */
function appending(config: JsonObject): JsonObject {
  if (config['write_mode'] === undefined || config['write_mode'] === 'append') return config;
  const { write_mode: _mode, key: _key, delete_marker: _marker, ...rest } = config;
  return rest;
}

export interface RowPlanning {
  readonly name: string;
  readonly ids: readonly string[];
  readonly lists: ReadonlyMap<string, ValueList>;
  /** Rows that run for the records of this one. */
  readonly children: readonly string[];
  readonly partition: PlannedRow['partition'];
  readonly blocks: BlockPlanner;
  readonly metadataColumns: PlannedRow['metadataColumns'];
  readonly adaptiveBatch: PlannedRow['adaptiveBatch'];
  readonly backfill: boolean;
  readonly issues: IssueList;
}

export function finishRow(row: AssembledRow, setting: RowPlanning): PlannedRow {
  const { issues } = setting;
  const { resolved } = row;
  const { ids, lists, backfill } = setting;
  const partition = resolved.partition?.value.kind;
  const scope = {
    owner: row.name,
    parent: resolved.parent?.row,
    forEach: resolved.forEach,
    partition,
    backfill,
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
  checkPartition(row, issues);
  checkShard(row, issues);
  checkWriteMode(row, issues);
  checkDelivery(row, issues);
  checkAdaptiveBatch(row, setting.adaptiveBatch, issues);
  checkState(row, setting.name, issues);
  const own = setting.blocks.ofRow(row);
  checkDeadLetters(row, own, issues);
  for (const { definition, path, planned } of own)
    if (planned !== undefined) definition.checkRow?.(planned, row, { path, issues });
  const cleanUp = planCleanUp(row, own, scope, issues);
  return Object.freeze({
    id: resolved.id,
    index: resolved.index,
    role:
      resolved.forEach.length > 0 ? 'product' : resolved.parent === undefined ? 'root' : 'child',
    parent: parentLinkOf(row, cleanUp?.tokens),
    dependsOn: resolved.dependsOn,
    forEach: resolved.forEach,
    collected: collectedOf([row.source, row.sink], lists),
    partition: setting.partition,
    ...(resolved.shard === undefined ? {} : { shard: resolved.shard }),
    source: row.source.plan,
    sink: row.sink.plan,
    transforms: row.transforms.map((transform) => transform.plan),
    state: row.state?.plan,
    dlq: row.dlq === undefined ? undefined : dlqPlan(row.dlq),
    delivery: resolved.delivery,
    guarantee: row.guarantee,
    blocks: plannedBlocks(own),
    adaptiveBatch: setting.adaptiveBatch,
    metadataColumns: setting.metadataColumns,
    ...(cleanUp === undefined ? {} : { cleanUp }),
    lane: chooseLane(row, { ...setting, own }),
    stateKey: row.stateKey,
    weight: resolved.weight,
    tags: resolved.tags,
    status: resolved.status,
  });
}

function dlqPlan({ spec, sink }: NonNullable<AssembledRow['dlq']>): PlannedRow['dlq'] {
  return {
    sink: sink.plan,
    onBatchError: spec.on_batch_error,
    maxFailuresPerPage: spec.max_failures_per_page,
    maxFailuresTotal: spec.max_failures_total,
  };
}
