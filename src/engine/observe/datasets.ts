/** The data sets that an invocation reads and writes, for observers. */
import type { Env } from '../../lib/env.ts';
import type { PlannedPart, Plan, PlannedRow, PlannedSink, PlannedSource } from '../../plan/plan.ts';
import { resolvePart, type RuntimeTokens } from '../../plan/resolve.ts';
import { redactUri } from '../../lib/http/redact-uri.ts';
import { withWholePath } from './dataset-uri.ts';

export interface ObservedDataset {
  /** The row, or the node of a graph. */
  readonly id: string;
  /** Kind of the connector. */
  readonly kind: string;
  /** Without credentials; `undefined` where the connector cannot name it. */
  readonly uri: string | undefined;
  readonly part: PlannedPart<unknown>;
}

export interface RowDatasets {
  /** One; in a graph every source node that reaches the sink. */
  readonly inputs: readonly ObservedDataset[];
  readonly output: ObservedDataset;
}

export interface DatasetNaming {
  readonly plan: Plan;
  readonly tokens: RuntimeTokens;
  readonly env: Pick<Env, 'cwd' | 'redactor'>;
}

export function datasetsOf(row: PlannedRow, naming: DatasetNaming): RowDatasets {
  const { topology } = naming.plan;
  const sources: readonly (readonly [string, PlannedSource])[] =
    topology === undefined
      ? [[row.id, row.source]]
      : sourceNodesOf(row.id, naming.plan).map(({ id, source }) => [id, source] as const);
  return {
    inputs: sources.map(([id, part]) => datasetOf(id, part, naming)),
    output: datasetOf(row.id, row.sink, naming),
  };
}

export function datasetOf(
  id: string,
  part: PlannedSource | PlannedSink,
  { tokens, env }: DatasetNaming,
): ObservedDataset {
  const written = part.definition.datasetUri(resolvePart(part, tokens));
  const uri =
    written.endsWith('://unknown') || written.startsWith('unknown://') ? undefined : written;
  const safe =
    uri === undefined ? undefined : env.redactor.text(redactUri(withWholePath(uri, env.cwd)));
  return { id, kind: part.type, uri: safe, part };
}

/** The source nodes whose records can reach a node, in the order of the graph. */
export function sourceNodesOf(
  id: string,
  { topology }: Plan,
): { readonly id: string; readonly source: PlannedSource }[] {
  if (topology === undefined) return [];
  const above = new Set([id]);
  // A set grows while it is walked.
  for (const node of above)
    for (const edge of topology.edges) if (edge.to === node) above.add(edge.from);
  return topology.nodes.flatMap((node) =>
    node.kind === 'source' && above.has(node.id) ? [{ id: node.id, source: node.source }] : [],
  );
}
