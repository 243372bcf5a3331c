// oxlint-disable-next-line import/default -- Vite makes an address of it.
import workerAddress from './layout-worker.ts?worker&url';
import {
  distinctEdges,
  NODE_WIDTH,
  type Graph,
  type PlacedEdge,
  type PlacedGraph,
  type PlacedNode,
} from './graph.ts';
import type { Layout, LayoutRequest } from './layout-worker.ts';

interface ScriptPolicy {
  createScriptURL(address: string): string;
}

/** Browsers that know trusted types start a worker only from an address that a policy has seen. */
const policy = (
  globalThis as {
    readonly trustedTypes?: { createPolicy(name: string, rules: ScriptPolicy): ScriptPolicy };
  }
).trustedTypes?.createPolicy('headgate-layout', {
  // It is the only one that is asked for, and it was known when the console was built.
  createScriptURL: () => workerAddress,
});

/** Rejects when the signal fires, or when the layout fails. */
export function placeGraph(graph: Graph, signal: AbortSignal): Promise<PlacedGraph> {
  const edges = distinctEdges(graph);
  const { promise, resolve, reject } = Promise.withResolvers<PlacedGraph>();
  const worker = new Worker(policy?.createScriptURL(workerAddress) ?? workerAddress, {
    type: 'module',
  });
  const stop = (): void => {
    worker.terminate();
    reject(signal.reason);
  };
  signal.addEventListener('abort', stop, { once: true });
  worker.addEventListener('message', ({ data }: MessageEvent<Layout>) => {
    const { places, paths, width, height } = data;
    worker.terminate();
    const nodes = graph.nodes.map((node, index) => ({
      ...node,
      ...(places[index] ?? { x: 0, y: 0 }),
    }));
    const byId = new Map(nodes.map((node) => [node.id, node]));
    resolve({
      nodes,
      edges: edges.map((edge, index) => ({
        ...edge,
        points: fromSideToSide(paths[index] ?? [], byId.get(edge.from), byId.get(edge.to)),
      })),
      width,
      height,
    });
  });
  worker.addEventListener('error', ({ message }) => {
    worker.terminate();
    reject(new Error(message));
  });
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- A worker has none.
  worker.postMessage({ ids: graph.nodes.map(({ id }) => id), edges } satisfies LayoutRequest);
  return promise.finally(() => signal.removeEventListener('abort', stop));
}

/** The library lets an edge begin anywhere at a node; one that goes on to the right begins at its side. */
function fromSideToSide(
  path: PlacedEdge['points'],
  from: PlacedNode | undefined,
  to: PlacedNode | undefined,
): PlacedEdge['points'] {
  if (from === undefined || to === undefined || to.x <= from.x) return path;
  return [
    { x: from.x + NODE_WIDTH / 2, y: from.y },
    ...path.slice(1, -1),
    { x: to.x - NODE_WIDTH / 2, y: to.y },
  ];
}
