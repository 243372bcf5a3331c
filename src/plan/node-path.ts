import type { Plan, PlannedRow, TopologyPlan, PlannedTransform } from './plan.ts';

/** How records get to a sink node from where they last came together or began. */
export interface NodePath {
  /** The source, merge or join node whose records go this way alone. */
  readonly from: string;
  readonly transforms: readonly PlannedTransform[];
}

/** Goes up from a sink node through tees and transforms, which have one edge in. */
export function pathTo({ nodes, edges }: TopologyPlan, sink: string): NodePath {
  const transforms: PlannedTransform[] = [];
  let at = sink;
  for (;;) {
    const above = edges.find(({ to }) => to === at)?.from;
    const node = nodes.find(({ id }) => id === above);
    if (node === undefined) throw new Error(`cannot happen: nothing leads to node ${at}`);
    if (node.kind === 'transform') transforms.unshift(...node.transforms);
    else if (node.kind !== 'tee') return { from: node.id, transforms };
    at = node.id;
  }
}

/**
 * The row of a sink node as a row of its own: with the transforms that only its records go
 * through.
 */
export function rowOfNode(topology: TopologyPlan, row: PlannedRow): PlannedRow {
  return { ...row, transforms: pathTo(topology, row.id).transforms };
}

/** The sink nodes of a graph as rows by themselves; any other plan stays as it is. */
export function withoutGraph(plan: Plan): Plan {
  const { topology } = plan;
  return topology === undefined
    ? plan
    : { ...plan, topology: undefined, rows: plan.rows.map((row) => rowOfNode(topology, row)) };
}
