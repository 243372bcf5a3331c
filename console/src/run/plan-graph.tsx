import { lazy, Suspense } from 'preact/compat';
import { useMemo } from 'preact/hooks';
import type { RunGetAnswer, RunPlanAnswer } from '../../../src/client/index.ts';
import { count } from '../lib/format.ts';
import { shortAddress, type Graph, type GraphNode } from '../graph/graph.ts';
import { Loading } from '../parts/small.tsx';
import { Table } from '../parts/table.tsx';
import { T } from '../texts.ts';

const GraphView = lazy(async () => (await import('../graph/graph-view.tsx')).GraphView);

type Rows = RunPlanAnswer['rows'];
export type Invocations = RunGetAnswer['invocations'];
export type Nodes = NonNullable<RunGetAnswer['nodes']>;

export interface Topology {
  readonly nodes: readonly { readonly id: string; readonly kind: string }[];
  readonly edges: readonly { readonly from: string; readonly to: string }[];
}

interface PlanGraphProps {
  readonly rows: Rows;
  /** Of a document with nodes; it has no rows that depend on each other. */
  readonly topology: unknown;
  readonly invocations: Invocations;
  /** What went through the nodes before the sinks. */
  readonly nodes: Nodes;
}

/** How rows or nodes hang together, coloured by what became of them. */
export function PlanGraph({ rows, topology, invocations, nodes }: PlanGraphProps) {
  const graph = useMemo(() => {
    const statuses = statusesOf(invocations);
    return topology === undefined
      ? matrixGraph(rows, statuses)
      : topologyGraph(topology as Topology, { invocations, nodes });
  }, [rows, topology, invocations, nodes]);
  const { plan: words } = T.run;
  const labels = new Map(graph.nodes.map(({ id, label }) => [id, label]));
  return (
    <article class="row-plan">
      <h3>{words.graph}</h3>
      <Suspense fallback={<Loading />}>
        <GraphView
          graph={graph}
          label={words.graphLabel}
          table={
            <Table
              label={words.graphLabel}
              rows={graph.edges}
              keyOf={({ from, to }) => JSON.stringify([from, to])}
              columns={[
                { name: words.from, cell: ({ from }) => labels.get(from) ?? from },
                { name: words.to, cell: ({ to }) => labels.get(to) ?? to },
              ]}
            />
          }
        />
      </Suspense>
    </article>
  );
}

/** The worst of each row: several invocations may be of one. */
function statusesOf(invocations: Invocations): ReadonlyMap<string, string> {
  const order = ['failed', 'cancelled', 'skipped', 'completed'];
  const statuses = new Map<string, string>();
  for (const { row_id: id, status } of invocations) {
    const [row = id] = id.split('::');
    const known = statuses.get(row);
    if (known === undefined || order.indexOf(status) < order.indexOf(known))
      statuses.set(row, status);
  }
  return statuses;
}

/** With the records that each node was given and handed on, once they are known. */
export function topologyGraph(
  topology: Topology,
  { invocations, nodes }: Pick<PlanGraphProps, 'invocations' | 'nodes'>,
): Graph {
  const through = new Map(nodes.map((node) => [node.id, node]));
  const written = new Map(invocations.map((one) => [one.row_id, one]));
  return {
    nodes: topology.nodes.map(({ id, kind }) => {
      const node = through.get(id);
      const sink = written.get(id);
      const [given, gave] =
        node === undefined
          ? [sink?.balance.read, sink?.balance.written]
          : [node.records_in, node.records_out];
      const counts = given === undefined ? '' : ` · ${count(given)} → ${count(gave ?? 0)}`;
      return {
        id,
        label: id,
        detail: `${kind}${counts}`,
        kind: 'step' as const,
        status: node?.status ?? sink?.status,
      };
    }),
    edges: topology.edges.map(({ from, to }) => ({ from, to })),
  };
}

interface Part {
  readonly type?: string;
  readonly uri?: string | null;
}

/** Sources, rows and sinks; what several rows share is drawn once. */
export function matrixGraph(rows: Rows, statuses: ReadonlyMap<string, string>): Graph {
  const nodes = new Map<string, GraphNode>();
  const edges: { from: string; to: string }[] = [];
  const rowId = (row: string): string => JSON.stringify(['row', row]);
  for (const row of rows) {
    const id = rowId(row.row);
    nodes.set(id, { id, label: row.row, kind: 'row', status: statuses.get(row.row) });
    const source = partNode('source', row['source'] as Part | undefined, row.row);
    const sink = partNode('sink', row['sink'] as Part | undefined, row.row);
    if (source !== undefined) {
      nodes.set(source.id, source);
      edges.push({ from: source.id, to: id });
    }
    if (sink !== undefined) {
      nodes.set(sink.id, sink);
      edges.push({ from: id, to: sink.id });
    }
    const before = [row['parent'], ...listOf(row['depends_on'])];
    for (const name of before)
      if (typeof name === 'string') edges.push({ from: rowId(name), to: id });
  }
  return { nodes: [...nodes.values()], edges };
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** Where the address depends on the time of the run, it is not known to be shared. */
function partNode(side: string, part: Part | undefined, row: string): GraphNode | undefined {
  if (part?.type === undefined) return undefined;
  const { uri, type } = part;
  if (typeof uri !== 'string')
    return { id: JSON.stringify([side, row]), label: type, kind: 'dataset' };
  const { label } = shortAddress(uri);
  return { id: JSON.stringify([side, uri]), label, detail: type, kind: 'dataset' };
}
