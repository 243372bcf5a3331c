/**
 * Document to plan: everything is decided, or all issues are reported, before the first record
 * moves.
 */
import { BLOCKS, GRAMMAR } from '../blocks/index.ts';
import { resilienceBlock } from '../blocks/resilience/index.ts';
import { selectionBlock } from '../blocks/selection/index.ts';
import type { Parts } from '../kit/parts.ts';
import type { Check } from '../kit/schema.ts';
import { ConfigError, type Issue } from '../lib/errors.ts';
import { joinPath } from '../lib/text/text-path.ts';
import type { Document } from '../document/document.ts';
import { isFull, withPlaces } from '../document/text/locate.ts';
import { parsedBlock, readBlocks } from '../document/parse/read-blocks.ts';
import { findTokens } from '../document/tokens/find-tokens.ts';
import { restoreEscapes } from '../document/tokens/tokens.ts';
import { planProviders } from './rules/auth.ts';
import { checkOutputs } from './rules/outputs.ts';
import { checkPresets } from './rules/presets.ts';
import { checkWaiting } from './rules/waiting.ts';
import { IssueList } from './issue-list.ts';
import { mayVanish, PartPlanner } from './plan-part.ts';
import { planTopology } from './plan-topology.ts';
import { planFanOut } from './plan-fan-out.ts';
import { finishRow, planRowParts, type RowPlanning } from './plan-row.ts';
import { BlockPlanner } from './plan-blocks.ts';
import type { Planning } from './planning.ts';
import type { Plan, PlannedRow } from './plan.ts';
import type { RowContext } from './row-context.ts';
import type { BlockDefinition } from '../blocks/define-block.ts';
import { grammarOf } from '../document/grammar.ts';
import type { AssembledRow } from './assembled-row.ts';
import { resolveRows } from './resolve-rows.ts';
import type { ResolvedRow } from './resolved-row.ts';
import { checkTokenScopes } from './run-time-tokens.ts';
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
  checkTokenScopes(document.tree, { definitions, issues, credentials: parts.credentials });
  const auth = planProviders(blocks, parts, issues);
  const name = restoreEscapes(document.name);
  const planning: Planning = {
    name,
    blocks,
    definitions,
    parts,
    issues,
    planner: new PartPlanner(issues, options.check),
    backfill: options.backfill === 'kept',
  };
  const blockPlanner = new BlockPlanner(planning, document, options.cpus);
  const context: RowContext = { ...planning, blockPlanner };
  const graph = planTopology(context);
  const { rows: resolved, fanOuts: lists, ...named } = graph?.resolved ?? resolveRows(context);
  // Tokens name rows; nodes have no records that others run for.
  const ids = graph === undefined ? [...resolved, ...lists].map((row) => row.id) : [];
  checkPresets(graph?.parts ?? [...resolved, ...lists], context);
  const assembled =
    graph?.rows ??
    resolved.map((row) => planRowParts(row, context)).filter((row) => row !== undefined);
  checkWaiting([...resolved, ...lists], resolved, issues);
  const scope = { ids, lists: named.lists };
  blockPlanner.checkRows(assembled);
  const rows = finishRows(assembled, resolved, { ...context, ...scope });
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
  blockPlanner.checkPlan({ rows, chosen, topology: graph?.topology });
  const wrong = issues.errors.length === 0 ? [] : withoutThoseOfSecrets(issues.errors, document);
  if (wrong.length > 0) throw new ConfigError(withPlaces(wrong, document.locate));
  return Object.freeze({
    ...blockPlanner.membersOfPlan(),
    name,
    rows: chosen,
    unselected: rows.filter((row) => !selection.run.has(row.id)),
    fanOuts: fanOuts.filter((row) => selection.run.has(row.id)),
    unselectedFanOuts: fanOuts.filter((row) => !selection.run.has(row.id)),
    selectionActive: selection.active,
    auth,
    warnings: withPlaces(issues.warnings, document.locate),
    blocks: blockPlanner.ofPlan(),
    locate: document.locate,
    ...topology,
  });
}

/** A text in which a secret is not filled in is nothing to judge. */
function withoutThoseOfSecrets(errors: readonly Issue[], { tree }: Document): readonly Issue[] {
  const secrets = findTokens(tree).filter(({ token }) => token.kind === 'directive');
  const places = secrets.map(({ steps }) => joinPath('', ...steps));
  return places.length === 0
    ? errors
    : errors.filter((issue) => !places.some((place) => mayVanish(issue, place)));
}

function finishRows(
  assembled: readonly AssembledRow[],
  resolved: readonly ResolvedRow[],
  planning: Omit<RowPlanning, 'children'>,
): PlannedRow[] {
  const children = Map.groupBy(resolved, (row) => row.parent?.row);
  return assembled.map((row) =>
    finishRow(row, {
      ...planning,
      children: (children.get(row.resolved.id) ?? []).map(({ id }) => id),
    }),
  );
}
