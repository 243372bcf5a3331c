/**
 * Document to plan: everything is decided, or everything wrong is told, before the first record
 * moves.
 */
import { GRAMMAR } from '../blocks/index.ts';
import { backfillBlock } from '../blocks/backfill/index.ts';
import { catalogBlock } from '../blocks/catalog/index.ts';
import { contractBlock } from '../blocks/contract/index.ts';
import { executionBlock } from '../blocks/execution/index.ts';
import { localOutputsBlock } from '../blocks/local-outputs/index.ts';
import { maskingBlock } from '../blocks/masking/index.ts';
import { metadataColumnsBlock } from '../blocks/metadata-columns/index.ts';
import { observabilityBlock } from '../blocks/observability/index.ts';
import { qualityBlock } from '../blocks/quality/index.ts';
import { resilienceBlock } from '../blocks/resilience/index.ts';
import { rollbackBlock } from '../blocks/rollback/index.ts';
import { scheduleBlock } from '../blocks/schedule/index.ts';
import { schemaDriftBlock } from '../blocks/schema-drift/index.ts';
import { selectionBlock } from '../blocks/selection/index.ts';
import type { Parts } from '../kit/parts.ts';
import type { Check } from '../kit/schema.ts';
import { ConfigError, type Issue } from '../lib/errors.ts';
import { isAtOrBelow, joinPath } from '../lib/text/text-path.ts';
import { breakerPolicyOf, poisonPolicyOf, retryPolicyOf } from '../blocks/resilience/schema.ts';
import type { Document } from '../document/document.ts';
import { isFull, withPlaces } from '../document/text/locate.ts';
import {
  parsedBlock,
  readBlocks,
  type ParsedBlocks,
  type Placed,
} from '../document/parse/read-blocks.ts';
import { restoreEscapes } from '../document/tokens/tokens.ts';
import { planProviders } from './rules/auth.ts';
import { checkBackfill } from './rules/backfill.ts';
import { planLineage } from './rules/lineage.ts';
import { checkMaskingTargets } from './rules/masking-targets.ts';
import { planNotifications } from './rules/notifications.ts';
import { checkOutputs } from './rules/outputs.ts';
import { checkWaiting, planPartitions } from './rules/partition.ts';
import { planReconcile } from './rules/reconcile.ts';
import { stampedColumns } from './rules/rollback.ts';
import { warnAboutUnusedShard } from './rules/shard.ts';
import { warnAboutUnusedStates } from './rules/state.ts';
import { checkPresets } from './rules/presets.ts';
import { checkVerify, planVerify, withVerify } from './rules/verify.ts';
import type { ValueList } from './for-each.ts';
import { IssueList } from './issue-list.ts';
import { PartPlanner } from './plan-part.ts';
import { planTopology } from './plan-topology.ts';
import { planFanOut } from './plan-fan-out.ts';
import { finishRow, planRowParts } from './plan-row.ts';
import type { Governance, PartitionPlan, Plan, RowPlan } from './plan.ts';
import type { AssembledRow } from './assembled-row.ts';
import { resolveRows, type ResolvedRow } from './resolve-rows.ts';
import { checkTokenScopes, findTokens } from './run-time-tokens.ts';
import { selectRows, type SelectionFlags } from './select.ts';

export interface PlanOptions {
  /** CPUs of the machine that runs the plan; decides the default of `max_concurrent`. */
  readonly cpus: number;
  /** Which rows to run; all eligible ones when absent. */
  readonly selection?: SelectionFlags;
  /**
   * The tokens of backfills stay as they are: the plan is only looked at. Elsewhere they are
   * refused, for nobody would fill them in.
   */
  readonly backfill?: 'kept';
  /** Checks values against their schemas, and may remember which were checked before. */
  readonly check?: Check;
}

/**
 * A function of its arguments. Throws `ConfigError` (stage `validate`) with every issue of the
 * document.
 */
export function planDocument(document: Document, parts: Parts, options: PlanOptions): Plan {
  const issues = new IssueList();
  const blocks = readBlocks(document, {
    grammar: GRAMMAR,
    issues: issues.errors,
    checking: options.check,
  });
  if (isFull(issues.errors)) throw new ConfigError(withPlaces(issues.errors, document.locate));
  checkTokenScopes(document.tree, issues);
  const auth = planProviders(blocks, parts, issues);
  checkMaskingTargets(blocks, parts, issues);
  const backfill = options.backfill === 'kept';
  const context = {
    blocks,
    parts,
    issues,
    planner: new PartPlanner(issues, options.check),
    backfill,
  };
  const graph = planTopology(context);
  const { rows: drafts, fanOuts: listRows, lists } = graph?.drafts ?? resolveRows(context);
  // Tokens name rows; nodes have no records that others run for.
  const ids = graph === undefined ? [...drafts, ...listRows].map((resolved) => resolved.id) : [];
  checkPresets(graph?.parts ?? [...drafts, ...listRows], context);
  const planned =
    graph?.rows ??
    drafts.map((resolved) => planRowParts(resolved, context)).filter((row) => row !== undefined);
  checkWaiting([...drafts, ...listRows], drafts, issues);
  if (graph === undefined) warnAboutUnusedShard(blocks, drafts, issues);
  const verify = planVerify(blocks, context);
  const finished = finishRows(planned, {
    name: restoreEscapes(document.name),
    ids,
    lists,
    drafts,
    partitions: planPartitions(drafts, context),
    blocks,
    reconcile: planReconcile(blocks, context),
    backfill,
    issues,
  });
  const rows = withVerify(verify, finished);
  checkVerify(verify, { topology: graph?.topology, rows }, issues);
  const retry = retryPolicyOf(parsedBlock(blocks, resilienceBlock)?.value ?? {});
  const fanOuts = listRows.flatMap(
    (resolved) => planFanOut(resolved, { ...context, ids, lists, retry }) ?? [],
  );
  const selectable = [...drafts, ...listRows].sort((one, other) => one.index - other.index);
  const selection = selectRows(selectable, {
    flags: options.selection ?? {},
    policy: parsedBlock(blocks, selectionBlock)?.value.include_parents,
    hasMatrix: blocks.matrix !== undefined,
    issues,
  });
  checkOutputs(
    planned.filter((row) => selection.run.has(row.resolved.id)),
    lists,
    issues,
  );
  const chosen = rows.filter((row) => selection.run.has(row.id));
  const topology = graph?.topology === undefined ? {} : { topology: graph.topology };
  const backfillSpec = parsedBlock(blocks, backfillBlock)?.value;
  if (backfillSpec !== undefined) checkBackfill({ rows: chosen, ...topology }, issues);
  const execution = parsedBlock(blocks, executionBlock)?.value;
  const notifications = planNotifications(blocks, rows, issues);
  const lineage = planLineage(blocks, document, issues);
  const wrong = issues.errors.length === 0 ? [] : withoutThoseOfSecrets(issues.errors, document);
  if (wrong.length > 0) throw new ConfigError(withPlaces(wrong, document.locate));
  return Object.freeze({
    name: restoreEscapes(document.name),
    rows: chosen,
    unselected: rows.filter((row) => !selection.run.has(row.id)),
    fanOuts: fanOuts.filter((row) => selection.run.has(row.id)),
    unselectedFanOuts: fanOuts.filter((row) => !selection.run.has(row.id)),
    selectionActive: selection.active,
    maxConcurrent:
      execution?.max_concurrent ?? Math.min(Math.max(Math.floor(options.cpus) || 4, 1), 8),
    onError: execution?.on_error ?? 'continue',
    schedule: execution?.schedule ?? 'declared',
    auth,
    warnings: withPlaces(issues.warnings, document.locate),
    ...(notifications === undefined ? {} : { notifications }),
    ...(lineage === undefined ? {} : { lineage }),
    ...plannedAs('catalog', parsedBlock(blocks, catalogBlock)),
    ...plannedAs('localOutputs', parsedBlock(blocks, localOutputsBlock)),
    ...plannedAs('observability', parsedBlock(blocks, observabilityBlock)),
    ...topology,
    ...plannedAs('recurrence', parsedBlock(blocks, scheduleBlock)),
    ...plannedAs('backfill', parsedBlock(blocks, backfillBlock)),
  });
}

function plannedAs<K extends string, T>(
  key: K,
  block: Placed<T> | undefined,
): { readonly [Key in K]?: T } {
  return block === undefined ? {} : ({ [key]: block.value } as { readonly [Key in K]: T });
}

/** A text in which a secret is not filled in is nothing to judge. */
function withoutThoseOfSecrets(errors: readonly Issue[], { tree }: Document): readonly Issue[] {
  const secrets = findTokens(tree).filter(({ token }) => token.kind === 'directive');
  const places = secrets.map(({ steps }) => joinPath('', ...steps));
  return places.length === 0
    ? errors
    : errors.filter(({ path }) => !places.some((place) => isAtOrBelow(path, place)));
}

interface Finishing {
  readonly name: string;
  readonly ids: readonly string[];
  readonly lists: ReadonlyMap<string, ValueList>;
  readonly drafts: readonly ResolvedRow[];
  readonly partitions: ReadonlyMap<string, PartitionPlan>;
  readonly blocks: ParsedBlocks;
  readonly reconcile: RowPlan['reconcile'];
  readonly backfill: boolean;
  readonly issues: IssueList;
}

function finishRows(
  planned: readonly AssembledRow[],
  { name, ids, lists, drafts, partitions, blocks, reconcile, backfill, issues }: Finishing,
): RowPlan[] {
  const children = Map.groupBy(drafts, (resolved) => resolved.parent?.row);
  const governance: Governance = {
    quality: parsedBlock(blocks, qualityBlock)?.value,
    contract: parsedBlock(blocks, contractBlock)?.value,
    masking: parsedBlock(blocks, maskingBlock)?.value,
    schema: parsedBlock(blocks, schemaDriftBlock)?.value,
  };
  const spec = parsedBlock(blocks, resilienceBlock)?.value ?? {};
  const resilience = {
    retry: retryPolicyOf(spec),
    poison: poisonPolicyOf(spec),
    breaker: breakerPolicyOf(spec),
  };
  const rollback = parsedBlock(blocks, rollbackBlock)?.value;
  const metadataColumns = stampedColumns(
    parsedBlock(blocks, metadataColumnsBlock)?.value,
    rollback,
    issues,
  );
  const adaptive = parsedBlock(blocks, executionBlock)?.value.adaptive_batch_size;
  const adaptiveBatch = adaptive?.enabled === true ? adaptive : undefined;
  // Runs that can be undone, and units of backfills that are done, are remembered in every store.
  if (rollback?.enabled !== true && parsedBlock(blocks, backfillBlock) === undefined)
    warnAboutUnusedStates(planned, issues);
  return planned.map((row) => {
    const own = (children.get(row.resolved.id) ?? []).map((child) => child.id);
    return finishRow(row, {
      name,
      ids,
      lists,
      children: own,
      partition: partitions.get(row.resolved.id),
      governance,
      resilience,
      metadataColumns,
      rollback,
      reconcile,
      adaptiveBatch,
      backfill,
      issues,
    });
  });
}
