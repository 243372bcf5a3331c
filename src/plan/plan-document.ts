/**
 * Document to plan: everything is decided, or all issues are reported, before the first record
 * moves.
 */
import { BLOCKS, GRAMMAR } from '../blocks/index.ts';
import { backfillBlock } from '../blocks/backfill/index.ts';
import { executionBlock } from '../blocks/execution/index.ts';
import { metadataColumnsBlock } from '../blocks/metadata-columns/index.ts';
import { resilienceBlock } from '../blocks/resilience/index.ts';
import { rollbackBlock } from '../blocks/rollback/index.ts';
import { selectionBlock } from '../blocks/selection/index.ts';
import type { Parts } from '../kit/parts.ts';
import type { Check } from '../kit/schema.ts';
import { ConfigError, type Issue } from '../lib/errors.ts';
import { isAtOrBelow, joinPath } from '../lib/text/text-path.ts';
import type { Document } from '../document/document.ts';
import { isFull, withPlaces } from '../document/text/locate.ts';
import { parsedBlock, readBlocks } from '../document/parse/read-blocks.ts';
import { restoreEscapes } from '../document/tokens/tokens.ts';
import { planProviders } from './rules/auth.ts';
import { checkBackfill } from './rules/backfill.ts';
import { checkOutputs } from './rules/outputs.ts';
import { checkWaiting, planPartitions } from './rules/partition.ts';
import { warnAboutUnusedShard } from './rules/shard.ts';
import { warnAboutUnusedStates } from './rules/state.ts';
import { checkPresets } from './rules/presets.ts';
import type { ValueList } from './for-each.ts';
import { IssueList } from './issue-list.ts';
import { PartPlanner } from './plan-part.ts';
import { planTopology } from './plan-topology.ts';
import { planFanOut } from './plan-fan-out.ts';
import { finishRow, planRowParts } from './plan-row.ts';
import { BlockPlanner } from './plan-blocks.ts';
import type { Plan, PlannedRow } from './plan.ts';
import type { RowContext } from './row-context.ts';
import { stampedColumns } from './stamped-columns.ts';
import type { BlockDefinition } from '../blocks/define-block.ts';
import { grammarOf } from '../document/grammar.ts';
import type { AssembledRow } from './assembled-row.ts';
import { resolveRows } from './resolve-rows.ts';
import type { ResolvedRow } from './resolved-row.ts';
import { checkTokenScopes, findTokens } from './run-time-tokens.ts';
import { selectRows, type SelectionFlags } from './select.ts';

export interface PlanOptions {
  /** CPUs of the machine that runs the plan; decides the default of `max_concurrent`. */
  readonly cpus: number;
  /** Which rows to run; all eligible ones when absent. */
  readonly selection?: SelectionFlags;
  /**
   * The tokens of backfills stay as they are: the plan is only looked at. Elsewhere they are
   * refused, because nothing would fill them in.
   */
  readonly backfill?: 'kept';
  /** The blocks that documents may hold; those of this build when absent. */
  readonly definitions?: readonly BlockDefinition[];
  /** Checks values against their schemas, and may remember which were checked before. */
  readonly check?: Check;
}

/**
 * A function of its arguments. Throws `ConfigError` (stage `validate`) with every issue of the
 * document.
 */
export function planDocument(document: Document, parts: Parts, options: PlanOptions): Plan {
  const issues = new IssueList();
  const { definitions = BLOCKS } = options;
  const blocks = readBlocks(document, {
    grammar: definitions === BLOCKS ? GRAMMAR : grammarOf(definitions),
    issues: issues.errors,
    checking: options.check,
  });
  if (isFull(issues.errors)) throw new ConfigError(withPlaces(issues.errors, document.locate));
  checkTokenScopes(document.tree, issues);
  const auth = planProviders(blocks, parts, issues);
  const name = restoreEscapes(document.name);
  const context: RowContext = {
    name,
    blocks,
    definitions,
    parts,
    issues,
    planner: new PartPlanner(issues, options.check),
    backfill: options.backfill === 'kept',
    metadataColumns: stampedColumns(
      parsedBlock(blocks, metadataColumnsBlock)?.value,
      parsedBlock(blocks, rollbackBlock)?.value,
      issues,
    ),
  };
  const blockPlanner = new BlockPlanner(context, document);
  const graph = planTopology(context);
  const { rows: resolved, fanOuts: lists, ...named } = graph?.resolved ?? resolveRows(context);
  // Tokens name rows; nodes have no records that others run for.
  const ids = graph === undefined ? [...resolved, ...lists].map((row) => row.id) : [];
  checkPresets(graph?.parts ?? [...resolved, ...lists], context);
  const assembled =
    graph?.rows ??
    resolved.map((row) => planRowParts(row, context)).filter((row) => row !== undefined);
  checkWaiting([...resolved, ...lists], resolved, issues);
  if (graph === undefined) warnAboutUnusedShard(blocks, resolved, issues);
  const scope = { ids, lists: named.lists };
  const rows = finishRows(assembled, resolved, { ...context, ...scope, blockPlanner });
  blockPlanner.checkPlan(rows, graph?.topology);
  const retry = blockPlanner.preparedOf(resilienceBlock)?.retry;
  const fanOuts = lists.flatMap((list) => planFanOut(list, { ...context, ...scope, retry }) ?? []);
  const selectable = [...resolved, ...lists].sort((one, other) => one.index - other.index);
  const selection = selectRows(selectable, {
    flags: options.selection ?? {},
    policy: parsedBlock(blocks, selectionBlock)?.value.include_parents,
    hasMatrix: blocks.matrix !== undefined,
    issues,
  });
  checkOutputs(
    assembled.filter((row) => selection.run.has(row.resolved.id)),
    named.lists,
    issues,
  );
  const chosen = rows.filter((row) => selection.run.has(row.id));
  const topology = graph?.topology === undefined ? {} : { topology: graph.topology };
  if (parsedBlock(blocks, backfillBlock) !== undefined)
    checkBackfill({ rows: chosen, ...topology }, issues);
  const wrong = issues.errors.length === 0 ? [] : withoutThoseOfSecrets(issues.errors, document);
  if (wrong.length > 0) throw new ConfigError(withPlaces(wrong, document.locate));
  const execution = parsedBlock(blocks, executionBlock)?.value;
  return Object.freeze({
    name,
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
    blocks: blockPlanner.ofPlan(),
    ...topology,
  });
}

/** A text in which a secret is not filled in is nothing to judge. */
function withoutThoseOfSecrets(errors: readonly Issue[], { tree }: Document): readonly Issue[] {
  const secrets = findTokens(tree).filter(({ token }) => token.kind === 'directive');
  const places = secrets.map(({ steps }) => joinPath('', ...steps));
  return places.length === 0
    ? errors
    : errors.filter(({ path }) => !places.some((place) => isAtOrBelow(path, place)));
}

interface Finishing extends RowContext {
  readonly ids: readonly string[];
  readonly lists: ReadonlyMap<string, ValueList>;
  readonly blockPlanner: BlockPlanner;
}

function finishRows(
  assembled: readonly AssembledRow[],
  resolved: readonly ResolvedRow[],
  finishing: Finishing,
): PlannedRow[] {
  const { blocks, blockPlanner, issues } = finishing;
  const children = Map.groupBy(resolved, (row) => row.parent?.row);
  const partitions = planPartitions(resolved, finishing);
  const adaptive = parsedBlock(blocks, executionBlock)?.value.adaptive_batch_size;
  const adaptiveBatch = adaptive?.enabled === true ? adaptive : undefined;
  warnAboutUnusedStates(assembled, blockPlanner, issues);
  return assembled.map((row) =>
    finishRow(row, {
      ...finishing,
      children: (children.get(row.resolved.id) ?? []).map(({ id }) => id),
      partition: partitions.get(row.resolved.id),
      blocks: blockPlanner,
      adaptiveBatch,
    }),
  );
}
