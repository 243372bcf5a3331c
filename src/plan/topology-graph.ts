/** Whether nodes and edges make a graph that can run (spec 2.8). */
import type { EdgeSpec, JoinSpec, NodeKind, NodeSpec } from '../document/structure/topology.ts';
import type { Placed } from '../document/parse/read-blocks.ts';
import { joinPath } from '../lib/text/text-path.ts';
import type { IssueList } from './issue-list.ts';

export interface PlacedNode {
  readonly id: string;
  readonly path: string;
  readonly spec: NodeSpec;
}

export interface Graph {
  /** Every node after those that feed it; as declared where that leaves a choice. */
  readonly nodes: readonly PlacedNode[];
  /** As declared. */
  readonly edges: readonly EdgeSpec[];
}

type Nodes = ReadonlyMap<string, Placed<NodeSpec> | undefined>;
type Edges = readonly Placed<EdgeSpec>[];

const NODES_PATH = 'pipeline.nodes';

/** A graph runs in one process, every node of it at the same time. */
const MAX_NODES = 500;
const MAX_EDGES = 2000;

interface Arity {
  readonly in: readonly [least: number, most: number];
  readonly out: readonly [least: number, most: number];
  readonly rule: string;
}

const ARITY: Readonly<Record<NodeKind, Arity>> = {
  source: { in: [0, 0], out: [1, 1], rule: 'no incoming edge and one outgoing edge' },
  transform: { in: [1, 1], out: [1, 1], rule: 'one incoming edge and one outgoing edge' },
  tee: {
    in: [1, 1],
    out: [2, Infinity],
    rule: 'one incoming edge and at least two outgoing edges',
  },
  merge: {
    in: [2, Infinity],
    out: [1, 1],
    rule: 'at least two incoming edges and one outgoing edge',
  },
  join: { in: [2, 2], out: [1, 1], rule: 'two incoming edges and one outgoing edge' },
  sink: { in: [1, 1], out: [0, 0], rule: 'one incoming edge and no outgoing edge' },
};

/** `undefined` when the graph cannot run; its issues are reported. */
export function checkGraph(nodes: Nodes, edges: Edges, issues: IssueList): Graph | undefined {
  const before = issues.errors.length;
  if (nodes.size > MAX_NODES || edges.length > MAX_EDGES) {
    const message = `a graph has at most ${MAX_NODES} nodes and ${MAX_EDGES} edges; this one has ${nodes.size} and ${edges.length}`;
    issues.error('too_large', NODES_PATH, message, 'split it into several documents');
    return undefined;
  }
  const known = [...nodes].flatMap(([id, placed]) =>
    placed === undefined ? [] : [{ id, path: placed.path, spec: placed.value }],
  );
  if (known.length === nodes.size) checkEnds(known, issues);
  const leadSomewhere = checkEndpoints(nodes, edges, issues);
  checkRepeated(edges, issues);
  for (const node of known) checkNode(node, edges, leadSomewhere, issues);
  warnAboutLabels(nodes, edges, issues);
  const sorted = inOrder(known, edges, issues);
  if (issues.errors.length > before || sorted.length < nodes.size) return undefined;
  return { nodes: sorted, edges: edges.map(({ value }) => value) };
}

function checkEnds(nodes: readonly PlacedNode[], issues: IssueList): void {
  for (const kind of ['source', 'sink'] as const) {
    if (nodes.some(({ spec }) => spec.kind === kind)) continue;
    const what = kind === 'source' ? 'nothing to read' : 'nowhere to write';
    issues.error(
      'missing_node',
      NODES_PATH,
      `the graph has no ${kind} node: there is ${what}`,
      `add a node with \`kind: ${kind}\``,
    );
  }
}

/** Whether every edge joins two nodes that are declared. */
function checkEndpoints(nodes: Nodes, edges: Edges, issues: IssueList): boolean {
  let isFine = true;
  for (const { path, value } of edges) {
    for (const end of ['from', 'to'] as const) {
      const name = value[end];
      if (nodes.has(name)) continue;
      isFine = false;
      issues.error(
        'unknown_node',
        joinPath(path, end),
        `there is no node \`${name}\``,
        issues.hintFor(name, nodes.keys(), 'nodes are'),
      );
    }
  }
  return isFine;
}

function checkRepeated(edges: Edges, issues: IssueList): void {
  const seen = new Set<string>();
  for (const { path, value } of edges) {
    const key = JSON.stringify([value.from, value.to, value.as ?? null]);
    if (seen.has(key)) {
      const message = `the edge from \`${value.from}\` to \`${value.to}\` is there already`;
      issues.error('duplicate_edge', path, message, 'remove it; every record would arrive twice');
    }
    seen.add(key);
  }
}

/** With an edge that leads nowhere a node may lack one only because of that. */
function checkNode(
  { id, path, spec }: PlacedNode,
  edges: Edges,
  leadSomewhere: boolean,
  issues: IssueList,
): void {
  const incoming = edges.filter(({ value }) => value.to === id);
  const outgoing = edges.filter(({ value }) => value.from === id);
  const arity = ARITY[spec.kind];
  const [into, out] = [incoming.length, outgoing.length];
  const isShort = into < arity.in[0] || out < arity.out[0];
  const isOver = into > arity.in[1] || out > arity.out[1];
  if (isOver || (isShort && leadSomewhere)) {
    const message = `node \`${id}\` is a ${spec.kind}, which has ${arity.rule}; this one has ${into} incoming and ${out} outgoing`;
    issues.error('node_arity', path, message, hintForArity(spec.kind, { into, out }));
  } else if (
    spec.kind === 'tee' &&
    spec.fanout !== undefined &&
    spec.fanout !== out &&
    leadSomewhere
  ) {
    const message = `node \`${id}\` has ${out} outgoing edges, and \`fanout\` says ${spec.fanout}`;
    issues.error(
      'node_arity',
      joinPath(path, 'fanout'),
      message,
      'correct the number, or add the edges that are missing',
    );
  }
  if (spec.kind === 'join') checkLabels({ id, path }, spec, incoming, issues);
}

function hintForArity(
  kind: NodeKind,
  { into, out }: { into: number; out: number },
): string | undefined {
  if (into === 0 && kind !== 'source') return `nothing reaches it: add an edge to it`;
  if (out === 0 && kind !== 'sink') return 'its records reach no sink: add an edge from it';
  if (out > 1 && kind !== 'tee' && kind !== 'sink')
    return 'put a `tee` behind it to give its records to several nodes';
  if (into > 1 && (kind === 'sink' || kind === 'transform' || kind === 'tee'))
    return 'put a `merge` before it';
  return undefined;
}

function checkLabels(
  { id, path }: Pick<PlacedNode, 'id' | 'path'>,
  spec: JoinSpec,
  incoming: Edges,
  issues: IssueList,
): void {
  const labels = incoming.map(({ value }) => value.as).filter((label) => label !== undefined);
  for (const [index, label] of labels.entries()) {
    if (labels.indexOf(label) === index) continue;
    const edge = incoming.findLast(({ value }) => value.as === label);
    issues.error(
      'duplicate_name',
      joinPath(edge?.path ?? path, 'as'),
      `two edges into \`${id}\` are called \`${label}\``,
    );
  }
  for (const side of ['build', 'probe'] as const) {
    const { edge } = spec[side];
    if (labels.includes(edge)) continue;
    const hint =
      labels.length === 0
        ? 'give the edges into it names with `as`'
        : issues.hintFor(edge, labels, 'they are called');
    issues.error(
      'unknown_label',
      joinPath(path, side, 'edge'),
      `no edge into \`${id}\` is called \`${edge}\``,
      hint,
    );
  }
}

function warnAboutLabels(nodes: Nodes, edges: Edges, issues: IssueList): void {
  for (const { path, value } of edges) {
    const kind = nodes.get(value.to)?.value.kind;
    if (value.as === undefined || kind === undefined || kind === 'join') continue;
    issues.warn(
      'without_effect',
      joinPath(path, 'as'),
      `\`as\` says nothing on an edge to a ${kind}: only a join looks at it`,
    );
  }
}

/** Nodes after those that feed them. The remaining nodes are in a cycle, or behind one. */
function inOrder(nodes: readonly PlacedNode[], edges: Edges, issues: IssueList): PlacedNode[] {
  const sorted: PlacedNode[] = [];
  const ids = new Set(nodes.map(({ id }) => id));
  let rest = nodes;
  while (rest.length > 0) {
    const waiting = new Set(rest.map(({ id }) => id));
    const ready = rest.filter(
      ({ id }) =>
        !edges.some(
          ({ value }) => value.to === id && ids.has(value.from) && waiting.has(value.from),
        ),
    );
    if (ready.length === 0) {
      reportCircle(rest, edges, issues);
      return sorted;
    }
    sorted.push(...ready);
    const done = new Set(ready.map(({ id }) => id));
    rest = rest.filter(({ id }) => !done.has(id));
  }
  return sorted;
}

function reportCircle(left: readonly PlacedNode[], edges: Edges, issues: IssueList): void {
  const byId = new Map(left.map((node) => [node.id, node]));
  const trail: string[] = [];
  // Every node that is left is fed by another one that is left: going back must come round.
  for (
    let at = left[0]?.id;
    at !== undefined;
    at = edges.find(({ value }) => value.to === at && byId.has(value.from))?.value.from
  ) {
    const from = trail.indexOf(at);
    if (from !== -1) {
      const circle = [...trail.slice(from), at].reverse();
      const message = `the nodes ${circle.map((id) => `\`${id}\``).join(' → ')} feed each other in a circle`;
      issues.error(
        'node_cycle',
        byId.get(at)?.path ?? NODES_PATH,
        message,
        'remove one of these edges',
      );
      return;
    }
    trail.push(at);
  }
}
