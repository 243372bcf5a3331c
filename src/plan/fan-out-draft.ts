/** Rows that list values: where those come from, settled but not looked up. */
import { selectSteps } from '../document/structure/fan-out.ts';
import type { RowStatus } from '../document/structure/source.ts';
import type { ParsedBlocks, ParsedRow } from '../document/parse/read-blocks.ts';
import { fanOutOf } from './for-each.ts';
import { draftPart, type Drafting, type PartDraft } from './part-draft.ts';
import type { RowLinks } from './row-graph.ts';

export interface FanOutDraft {
  readonly id: string;
  readonly index: number;
  readonly path: string;
  readonly parent: undefined;
  readonly dependsOn: readonly string[];
  readonly forEach: readonly string[];
  readonly collect: boolean;
  readonly source: PartDraft | undefined;
  readonly select: readonly string[];
  readonly alias: string;
  readonly weight: number | undefined;
  readonly tags: readonly string[];
  readonly status: RowStatus;
}

/**
 * The source of a fan-out row; one without `ref` stands alone, whatever the default template is.
 */
export function draftListSource(
  row: ParsedRow,
  { blocks: { pipeline }, parts, issues }: Drafting,
): PartDraft | undefined {
  const block = fanOutOf(row);
  if (block === undefined) return undefined;
  const own = block.value.source;
  const templates: typeof pipeline.sources = own.ref === undefined ? new Map() : pipeline.sources;
  return draftPart(
    {
      role: 'source',
      own,
      templates,
      shelf: parts.sources,
      path: block.path,
      present: pipeline.present,
    },
    issues,
  );
}

export function draftFanOut(
  row: ParsedRow,
  link: RowLinks,
  source: PartDraft | undefined,
  { pipeline }: ParsedBlocks,
): FanOutDraft | undefined {
  const spec = fanOutOf(row)?.value;
  if (spec === undefined) return undefined;
  const template =
    spec.source.ref === undefined ? undefined : pipeline.sources.get(spec.source.ref)?.value;
  return {
    id: link.id,
    index: row.index,
    path: row.path,
    parent: undefined,
    dependsOn: link.dependsOn,
    forEach: link.forEach,
    collect: row.spec.collect === true,
    source,
    select: selectSteps(spec.select),
    alias: spec.as,
    weight: row.spec.weight,
    tags: [...new Set([...(template?.tags ?? []), ...(row.spec.tags ?? [])])],
    status: spec.source.status ?? template?.status ?? 'active',
  };
}
