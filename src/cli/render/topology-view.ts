/** A graph of nodes as text, and what `validate` says of one. */
import type { PlannedEdge, PlannedNode, Plan, PlannedRow, TopologyPlan } from '../../plan/plan.ts';
import { count } from '../../lib/text/count.ts';
import { table } from './render.ts';
import { factsOf } from '../../features/plan-view/row-facts.ts';

/** `4 nodes, 3 edges`. */
export function sizeOf({ nodes, edges }: TopologyPlan): string {
  return `${count(nodes.length, 'node')}, ${count(edges.length, 'edge')}`;
}

/**
 * A line for each node in the order in which records pass, with where it hands them, and what is to
 * be known of the whole.
 */
export function drawGraph(topology: TopologyPlan, rows: readonly PlannedRow[]): string[] {
  const { nodes, edges, startsOver } = topology;
  const cells = nodes.map((node) => [
    node.id,
    node.kind,
    describe(node, rows),
    edges
      .filter(({ from }) => from === node.id)
      .map((edge) => `→ ${target(edge)}`)
      .join('  '),
  ]);
  return [
    ...table(['node', 'kind', 'what', 'hands on'], cells),
    ...edges
      .filter(({ spills }) => spills)
      .map(
        (edge) => `${edge.from} → ${target(edge)}: pages wait on disk until the build side is read`,
      ),
    ...(startsOver === undefined || rows.every(({ state }) => state === undefined)
      ? []
      : [`every run reads everything: ${startsOver}`]),
  ];
}

function target({ to, label }: PlannedEdge): string {
  return label === undefined ? to : `${to} (${label})`;
}

function describe(node: PlannedNode, rows: readonly PlannedRow[]): string {
  switch (node.kind) {
    case 'source': {
      const { type, deferred, definition, parsed } = node.source;
      return deferred ? type : `${type}  ${definition.datasetUri(parsed)}`;
    }
    case 'transform':
      return node.transforms.map(({ type }) => type).join(' → ') || 'nothing';
    case 'tee':
      return 'every record to each';
    case 'merge':
      return 'pages in order of arrival';
    case 'join': {
      const { mode, build, probe, project } = node.join;
      const brought =
        project.length === 0 ? '' : `, brings ${project.map(({ as }) => as).join(', ')}`;
      return `${mode}: ${probe.edge}.${probe.key} = ${build.edge}.${build.key}${brought}`;
    }
    case 'sink': {
      const row = rows.find(({ id }) => id === node.id);
      if (row === undefined) return '';
      const { sinkUri } = factsOf(row);
      return sinkUri === undefined ? row.sink.type : `${row.sink.type}  ${sinkUri}`;
    }
    default:
      return node satisfies never;
  }
}

/** What `validate` says about a graph. */
export function topologyValidity(plan: Plan, topology: TopologyPlan): Record<string, unknown> {
  return {
    valid: true,
    mode: 'topology',
    name: plan.name,
    node_count: topology.nodes.length,
    edge_count: topology.edges.length,
    nodes: topology.nodes.map(({ id, kind }) => ({ id, kind })),
    warnings: plan.warnings.map(({ path, message }) => ({ block: path, consequence: message })),
  };
}
