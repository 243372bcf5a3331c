/** A graph as views describe it, and as it is drawn. */

export interface GraphNode {
  readonly id: string;
  readonly label: string;
  /** A second line, such as the folder of a file. */
  readonly detail?: string | undefined;
  readonly kind: 'dataset' | 'row' | 'step' | 'column';
  /** Of the run; colours its edge. */
  readonly status?: string | undefined;
  /** Where it leads. */
  readonly link?: string | undefined;
}

export interface GraphEdge {
  readonly from: string;
  readonly to: string;
}

export interface Graph {
  readonly nodes: readonly GraphNode[];
  readonly edges: readonly GraphEdge[];
}

/** Of every node, in units of the drawing. */
export const [NODE_WIDTH, NODE_HEIGHT] = [208, 46];

export interface PlacedNode extends GraphNode {
  /** Of its middle. */
  readonly x: number;
  readonly y: number;
}

export interface PlacedEdge extends GraphEdge {
  readonly points: readonly { readonly x: number; readonly y: number }[];
}

export interface PlacedGraph {
  readonly nodes: readonly PlacedNode[];
  readonly edges: readonly PlacedEdge[];
  readonly width: number;
  readonly height: number;
}

/** Each edge once, and only between nodes that are there. */
export function distinctEdges({ nodes, edges }: Graph): GraphEdge[] {
  const known = new Set(nodes.map(({ id }) => id));
  const distinct = new Map<string, GraphEdge>();
  for (const { from, to } of edges)
    if (from !== to && known.has(from) && known.has(to))
      distinct.set(JSON.stringify([from, to]), { from, to });
  return [...distinct.values()];
}

export type Direction = 'left' | 'right' | 'up' | 'down';

/** Where an arrow key leads: along an edge to the left or right, in the same column up or down. */
export function neighbour(
  { nodes, edges }: PlacedGraph,
  from: PlacedNode,
  direction: Direction,
): PlacedNode | undefined {
  const candidates =
    direction === 'up' || direction === 'down'
      ? nodes.filter(
          ({ x, y }) =>
            Math.abs(x - from.x) < NODE_WIDTH / 2 && (direction === 'up' ? y < from.y : y > from.y),
        )
      : nodesAlong({ nodes, edges }, from, direction);
  return candidates.reduce<PlacedNode | undefined>(
    (best, node) => (best === undefined || isNearer(node, best, from) ? node : best),
    undefined,
  );
}

function nodesAlong(
  { nodes, edges }: Pick<PlacedGraph, 'nodes' | 'edges'>,
  { id }: PlacedNode,
  direction: 'left' | 'right',
): PlacedNode[] {
  const wanted = new Set(
    direction === 'right'
      ? edges.filter(({ from }) => from === id).map(({ to }) => to)
      : edges.filter(({ to }) => to === id).map(({ from }) => from),
  );
  return nodes.filter((node) => wanted.has(node.id));
}

function isNearer(node: PlacedNode, than: PlacedNode, to: PlacedNode): boolean {
  return Math.abs(node.y - to.y) < Math.abs(than.y - to.y);
}

/** The last step of an address, and what stands before it. */
export function shortAddress(uri: string): { readonly label: string; readonly detail?: string } {
  const [, before = '', last = uri] = /^(.*[/?=])([^/?=]+)[/]?$/.exec(uri) ?? [];
  return before === '' ? { label: uri } : { label: last, detail: before };
}
