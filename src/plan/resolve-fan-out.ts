/** Rows that list values: where those come from, settled but not looked up. */
import { selectSteps } from '../document/structure/fan-out.ts';
import type { RowStatus } from '../document/structure/source.ts';
import type { ParsedBlocks, ParsedRow } from '../document/parse/read-blocks.ts';
import { collectOf, fanOutOf } from './for-each.ts';
import { resolvePart, type Resolving, type ResolvedPart } from './resolve-part.ts';
import type { RowLinks } from './row-graph.ts';

export interface ResolvedFanOut {
  readonly id: string;
  readonly index: number;
  readonly path: string;
  readonly parent: undefined;
  readonly dependsOn: readonly string[];
  readonly forEach: readonly string[];
  readonly collect: boolean;
  readonly source: ResolvedPart | undefined;
  readonly select: readonly string[];
  readonly alias: string;
  readonly weight: number | undefined;
  readonly tags: readonly string[];
  readonly status: RowStatus;
}

/**
 * The source of a fan-out row; one without `ref` does not use the default preset.
 */
export function resolveListSource(
  row: ParsedRow,
  { blocks: { pipeline }, parts, issues }: Resolving,
): ResolvedPart | undefined {
  const block = fanOutOf(row);
  if (block === undefined) return undefined;
  const own = block.value.source;
  const presets: typeof pipeline.sources = own.ref === undefined ? new Map() : pipeline.sources;
  return resolvePart(
    {
      role: 'source',
      own,
      presets,
      registry: parts.sources,
      path: block.path,
      present: pipeline.present,
    },
    issues,
  );
}

export function resolveFanOut(
  row: ParsedRow,
  link: RowLinks,
  source: ResolvedPart | undefined,
  { pipeline }: ParsedBlocks,
): ResolvedFanOut | undefined {
  const spec = fanOutOf(row)?.value;
  if (spec === undefined) return undefined;
  const preset =
    spec.source.ref === undefined ? undefined : pipeline.sources.get(spec.source.ref)?.value;
  return {
    id: link.id,
    index: row.index,
    path: row.path,
    parent: undefined,
    dependsOn: link.dependsOn,
    forEach: link.forEach,
    collect: collectOf(row)?.value === true,
    source,
    select: selectSteps(spec.select),
    alias: spec.as,
    weight: row.spec.weight,
    tags: [...new Set([...(preset?.tags ?? []), ...(row.spec.tags ?? [])])],
    status: spec.source.status ?? preset?.status ?? 'active',
  };
}
