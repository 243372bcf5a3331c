/**
 * Rows that are cut into chunks: whose block it is, what its tokens are, and what it cannot be
 * combined with (spec 2.14).
 */
import { joinPath } from '../../lib/text/text-path.ts';
import type { Parts } from '../../kit/parts.ts';
import type { SourceDefinition } from '../../kit/source.ts';
import { probeOf } from '../../blocks/partition/schema.ts';
import { CHUNK_TOKENS, cut } from '../../document/ranges/chunks.ts';
import type { ParsedBlocks } from '../../document/parse/read-blocks.ts';
import { isCut } from '../cut.ts';
import type { IssueList } from '../issue-list.ts';
import type { ResolvedPart } from '../resolve-part.ts';
import type { PartPlanner } from '../plan-part.ts';
import type { PartitionPlan } from '../plan.ts';
import { rowName, type AssembledRow } from '../assembled-row.ts';
import type { ResolvedRow } from '../resolved-row.ts';
import { checkAuthRef } from './auth.ts';

interface Planning {
  readonly blocks: ParsedBlocks;
  readonly parts: Parts;
  readonly planner: PartPlanner;
  readonly issues: IssueList;
}

/** Rows that share a block share its plan. */
export function planPartitions(
  drafts: readonly ResolvedRow[],
  context: Planning,
): ReadonlyMap<string, PartitionPlan> {
  const byPath = new Map<string, PartitionPlan>();
  const byRow = new Map<string, PartitionPlan>();
  for (const { id, partition } of drafts) {
    if (partition === undefined) continue;
    const plan = byPath.get(partition.path) ?? planPartition(partition, context);
    if (plan === undefined) continue;
    byPath.set(partition.path, plan);
    byRow.set(id, plan);
  }
  return byRow;
}

function planPartition(
  { path, value: spec }: NonNullable<ResolvedRow['partition']>,
  context: Planning,
): PartitionPlan | undefined {
  const probe = probeOf(spec);
  if (probe === undefined) {
    const result = cut(spec);
    // An invalid range was reported when the block was read.
    return 'fault' in result ? undefined : { path, spec, chunks: result.chunks, probe: undefined };
  }
  const at = joinPath(path, spec.kind === 'offset' ? 'total' : 'to', 'from_source');
  const config = probe.from_source.config ?? {};
  const resolved: ResolvedPart = {
    path: at,
    template: 'default',
    type: probe.from_source.type,
    typePath: joinPath(at, 'type'),
    config,
    layers: [{ path: at, config }],
  };
  checkAuthRef(resolved, context.blocks, context.issues);
  const source = context.planner.plan<SourceDefinition>(resolved, context.parts.sources, 'source');
  return source === undefined
    ? undefined
    : {
        path,
        spec,
        chunks: undefined,
        probe: { source: source.plan, valuePath: probe.value_path },
      };
}

/** Every chunk must read something else: its tokens must be used in the source. */
export function checkPartition(row: AssembledRow, issues: IssueList): void {
  const { partition } = row.resolved;
  if (partition === undefined) return;
  if (row.source.tokens.some(({ token }) => token.kind === 'path' && token.root === 'partition'))
    return;
  const [first = '', second = ''] = CHUNK_TOKENS[partition.value.kind];
  const message = `${rowName(row.resolved)} is cut into chunks, but every chunk would read the same: its source names none of them`;
  issues.error(
    'partition_unused',
    joinPath(row.source.plan.path, 'config'),
    message,
    `use \`\${partition.${first}}\` and \`\${partition.${second}}\` in the \`config\` of the source, or set \`partition: null\` in the row`,
  );
}

/** Whether something is wrong with a block: what its tokens would be is not known then. */
export function isPartitionFaulty({ errors }: IssueList): boolean {
  return errors.some(({ path }) => /^(?:matrix\[\d+\]\.)?partition(?:[.[]|$)/.test(path));
}

/** What is wrong with `${partition.<name>}` in a row. */
export function partitionTokenFault(
  name: string,
  kind: keyof typeof CHUNK_TOKENS,
): { message: string; names: readonly string[] } | undefined {
  const names = CHUNK_TOKENS[kind];
  return names.includes(name)
    ? undefined
    : { message: `a chunk of kind \`${kind}\` has no \`\${partition.${name}}\``, names };
}

/**
 * Chunks and shards are invocations with positions of their own: nobody can wait for them, or run
 * for their records, as for one row.
 */
export function checkWaiting(
  drafts: readonly Pick<ResolvedRow, 'path' | 'parent' | 'dependsOn'>[],
  rows: readonly ResolvedRow[],
  issues: IssueList,
): void {
  const cutRows = new Set(rows.filter(isCut).map(({ id }) => id));
  if (cutRows.size === 0) return;
  for (const { path, parent, dependsOn } of drafts) {
    for (const [key, target] of [
      ['parent', parent?.row] as const,
      ...dependsOn.map((id) => ['depends_on', id] as const),
    ]) {
      if (target === undefined || !cutRows.has(target)) continue;
      const message = `row \`${target}\` is cut into parts, so it cannot be the ${key === 'parent' ? 'parent' : 'dependency'} of another row`;
      issues.error(
        'partition_referenced',
        joinPath(path, key),
        message,
        `set \`partition: null\` in row \`${target}\`, remove \`shard\` from its source, or remove the reference`,
      );
    }
  }
}
