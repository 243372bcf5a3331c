/** One row: its parts are found and parsed, the gates judge them, and the lane is chosen. */
import type { Parts } from '../kit/parts.ts';
import type { SinkDefinition } from '../kit/sink.ts';
import type { SourceDefinition } from '../kit/source.ts';
import type { StateStoreDefinition } from '../kit/state-store.ts';
import type { TransformDefinition } from '../kit/transform.ts';
import type { JsonObject } from '../lib/text/json.ts';
import { joinPath } from '../lib/text/text-path.ts';
import type { DlqSpec } from '../blocks/dlq/schema.ts';
import type { RollbackConfig } from '../blocks/rollback/schema.ts';
import type { ParsedBlocks, Placed } from '../document/parse/read-blocks.ts';
import { checkAuthRef } from './rules/auth.ts';
import { planCleanUp } from './rules/clean-up.ts';
import { checkDeadLetters } from './rules/dead-letters.ts';
import { checkDelivery, guaranteeOf } from './rules/delivery.ts';
import { checkSchemaDrift } from './rules/drift.ts';
import { checkPartition } from './rules/partition.ts';
import { checkReconcile } from './rules/reconcile.ts';
import { planRollback } from './rules/rollback.ts';
import { checkResilience } from './rules/resilience.ts';
import { checkTokens, collectedOf, parentLinkOf } from './rules/row-tokens.ts';
import { checkShard } from './rules/shard.ts';
import { checkSla } from './rules/sla.ts';
import { checkState, stateKeyOf } from './rules/state.ts';
import { checkWriteMode } from './rules/write-mode.ts';
import type { ValueList } from './for-each.ts';
import type { IssueList } from './issue-list.ts';
import { chooseLane } from './lane.ts';
import type { PartPlanner, PlannedPart } from './plan-part.ts';
import type { Governance, RowPlan } from './plan.ts';
import { rowName, type PlannedRow } from './planned-row.ts';
import type { PartDraft } from './part-draft.ts';
import type { RowDraft } from './row-drafts.ts';

export interface RowContext {
  readonly blocks: ParsedBlocks;
  readonly parts: Parts;
  readonly planner: PartPlanner;
  readonly issues: IssueList;
  /** Whether the tokens of backfills stay as they are. */
  readonly backfill: boolean;
}

/**
 * Finds and parses the parts of a row; `undefined` when its source or sink cannot be known. A sink
 * node reads from a graph.
 */
export function planRowParts(
  draft: RowDraft,
  context: RowContext,
  graph?: PlannedPart<SourceDefinition>,
): PlannedRow | undefined {
  const { parts, planner, blocks, issues } = context;
  for (const part of [draft.source, draft.sink])
    if (part !== undefined) checkAuthRef(part, blocks, issues);
  const source =
    draft.source === undefined
      ? graph
      : planner.plan<SourceDefinition>(draft.source, parts.sources, 'source');
  const sink =
    draft.sink === undefined
      ? undefined
      : planner.plan<SinkDefinition>(draft.sink, parts.sinks, 'sink');
  const transforms = draft.transforms.map((entry) =>
    planner.plan<TransformDefinition>(plainDraft(entry), parts.transforms, 'transform'),
  );
  const state =
    draft.state === undefined
      ? undefined
      : planner.plan<StateStoreDefinition>(plainDraft(draft.state), parts.states, 'state store');
  const dlq = draft.dlq === undefined ? undefined : planDlq(draft.dlq, context);
  if (source === undefined || sink === undefined) return undefined;
  return {
    draft,
    source,
    sink,
    transforms: transforms.filter((transform) => transform !== undefined),
    state,
    dlq,
    reads: judge(source, (config) => source.plan.definition.capabilities(config)),
    writes: judge(sink, (config) => sink.plan.definition.capabilities(config)),
  };
}

function judge<D, T>(part: PlannedPart<D>, capabilities: (config: unknown) => T): T | undefined {
  return part.judged === undefined ? undefined : capabilities(part.judged);
}

function planDlq(
  { path, value }: Placed<DlqSpec>,
  { planner, parts }: RowContext,
): PlannedRow['dlq'] {
  const written = plainDraft({ path: joinPath(path, 'sink'), value: value.sink });
  const sink = planner.plan<SinkDefinition>(
    { ...written, config: appending(written.config) },
    parts.sinks,
    'sink',
  );
  return sink === undefined ? undefined : { spec: value, path, sink };
}

/** A dead-letter queue always appends, whatever the sink was told. */
function appending(config: JsonObject): JsonObject {
  if (config['write_mode'] === undefined || config['write_mode'] === 'append') return config;
  const { write_mode: _mode, key: _key, delete_marker: _marker, ...rest } = config;
  return rest;
}

/** A part without templates. */
export function plainDraft({
  path,
  value,
}: Placed<{ readonly type: string; readonly config?: JsonObject | undefined }>): PartDraft {
  const config = value.config ?? {};
  return {
    path,
    template: 'default',
    type: value.type,
    typePath: joinPath(path, 'type'),
    config,
    layers: [{ path, config }],
  };
}

export interface RowSetting {
  readonly name: string;
  readonly ids: readonly string[];
  readonly lists: ReadonlyMap<string, ValueList>;
  /** Rows that run for the records of this one. */
  readonly children: readonly string[];
  readonly partition: RowPlan['partition'];
  readonly governance: Governance;
  readonly resilience: Pick<RowPlan, 'retry' | 'poison' | 'breaker'>;
  readonly metadataColumns: RowPlan['metadataColumns'];
  readonly rollback: RollbackConfig | undefined;
  readonly reconcile: RowPlan['reconcile'];
  readonly adaptiveBatch: RowPlan['adaptiveBatch'];
  readonly backfill: boolean;
  readonly issues: IssueList;
}

export function finishRow(row: PlannedRow, setting: RowSetting): RowPlan {
  const { issues, governance } = setting;
  const { draft } = row;
  const { ids, lists, backfill } = setting;
  const partition = draft.partition?.value.kind;
  const scope = {
    owner: rowName(draft),
    parent: draft.parent?.row,
    forEach: draft.forEach,
    partition,
    backfill,
    ids,
    lists,
  };
  checkTokens(
    { draft: draft.source, tokens: row.source.tokens, own: row.source.plan.definition.ownTokens },
    scope,
    issues,
  );
  checkTokens({ draft: draft.sink, tokens: row.sink.tokens, own: undefined }, scope, issues);
  checkPartition(row, issues);
  checkShard(row, issues);
  checkReconcile(row, setting.reconcile, issues);
  checkWriteMode(row, issues);
  checkDelivery(row, governance, issues);
  checkDeadLetters(row, governance, issues);
  checkResilience(row, { ...setting.resilience, adaptiveBatch: setting.adaptiveBatch }, issues);
  checkSchemaDrift(row, governance, issues);
  checkSla(row, issues);
  checkState(row, setting.name, issues);
  const stateKey = stateKeyOf(setting.name, draft.id);
  const rollback = planRollback(
    row,
    { rollback: setting.rollback, columns: setting.metadataColumns, stateKey },
    issues,
  );
  const cleanUp = planCleanUp(row, governance, scope, issues);
  return Object.freeze({
    id: draft.id,
    index: draft.index,
    role: draft.forEach.length > 0 ? 'product' : draft.parent === undefined ? 'root' : 'child',
    parent: parentLinkOf(row, cleanUp?.tokens),
    dependsOn: draft.dependsOn,
    forEach: draft.forEach,
    collected: collectedOf([row.source, row.sink], lists),
    partition: setting.partition,
    ...(draft.shard === undefined ? {} : { shard: draft.shard }),
    source: row.source.plan,
    sink: row.sink.plan,
    transforms: row.transforms.map((transform) => transform.plan),
    state: row.state?.plan,
    dlq: row.dlq === undefined ? undefined : dlqPlan(row.dlq),
    delivery: draft.delivery,
    guarantee: guaranteeOf(row),
    governance,
    ...setting.resilience,
    sla: draft.sla?.value,
    reconcile: setting.reconcile,
    adaptiveBatch: setting.adaptiveBatch,
    metadataColumns: setting.metadataColumns,
    ...(rollback === undefined ? {} : { rollback }),
    ...(cleanUp === undefined ? {} : { cleanUp }),
    lane: chooseLane(row, setting),
    stateKey,
    weight: draft.weight,
    tags: draft.tags,
    status: draft.status,
  });
}

function dlqPlan({ spec, sink }: NonNullable<PlannedRow['dlq']>): RowPlan['dlq'] {
  return {
    sink: sink.plan,
    onBatchError: spec.on_batch_error,
    maxFailuresPerPage: spec.max_failures_per_page,
    maxFailuresTotal: spec.max_failures_total,
  };
}
