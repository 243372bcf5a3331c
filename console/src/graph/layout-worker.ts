/** Places the nodes of a graph beside the page, which stays usable meanwhile. */
import { Graph, layout } from '@dagrejs/dagre';
import { NODE_HEIGHT, NODE_WIDTH, type GraphEdge } from './graph.ts';

export interface LayoutRequest {
  readonly ids: readonly string[];
  readonly edges: readonly GraphEdge[];
}

export interface Layout {
  readonly places: readonly { readonly x: number; readonly y: number }[];
  readonly paths: readonly (readonly { readonly x: number; readonly y: number }[])[];
  readonly width: number;
  readonly height: number;
}

/** From so many nodes on the ranks are found in a way that takes seconds instead of minutes. */
const LARGE = 300;

addEventListener('message', ({ data }: MessageEvent<LayoutRequest>) => postMessage(place(data)));

function place({ ids, edges }: LayoutRequest): Layout {
  const graph = new Graph();
  graph.setGraph({
    rankdir: 'LR',
    nodesep: 14,
    edgesep: 8,
    ranksep: 64,
    marginx: 16,
    marginy: 16,
    ranker: ids.length > LARGE ? 'longest-path' : 'network-simplex',
  });
  graph.setDefaultEdgeLabel(() => ({}));
  // The library has nodes and edges by name, and some names mean something to it.
  const names = new Map(ids.map((id, index) => [id, `n${index}`]));
  const nameOf = (id: string): string => names.get(id) ?? '';
  for (const name of names.values())
    graph.setNode(name, { width: NODE_WIDTH, height: NODE_HEIGHT });
  for (const { from, to } of edges) graph.setEdge(nameOf(from), nameOf(to));
  layout(graph);
  const { width = 0, height = 0 } = graph.graph() as { width?: number; height?: number };
  return {
    places: ids.map((id) => {
      const { x = 0, y = 0 } = graph.node(nameOf(id)) as { x?: number; y?: number };
      return { x, y };
    }),
    paths: edges.map(({ from, to }) => {
      const { points = [] } = graph.edge(nameOf(from), nameOf(to)) as {
        points?: { x: number; y: number }[];
      };
      return points.map(({ x, y }) => ({ x, y }));
    }),
    width,
    height,
  };
}
