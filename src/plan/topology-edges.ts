/**
 * What is to be known of an edge before a run: how much it holds, whether it may have to spill, and
 * who owns what travels on it.
 */
import type { EdgeSpec, NodeSpec } from '../document/structure/topology.ts';
import type { PlannedEdge } from './plan.ts';
import type { Graph } from './topology-graph.ts';

/** Pages on an edge that does not leave a tee. */
const CAPACITY = 4;

export function planEdges({ nodes, edges }: Graph): PlannedEdge[] {
  const specs = new Map(nodes.map(({ id, spec }) => [id, spec]));
  const reach = reachOf(edges);
  const owned = ownership({ nodes, edges });
  return edges.map((edge) => ({
    from: edge.from,
    to: edge.to,
    label: edge.as,
    capacity: capacityOf(specs.get(edge.from)),
    spills: isProbe(edge, specs) && mayBlock(edge, edges, { specs, reach }),
    owned: owned.has(edge.from),
  }));
}

function capacityOf(spec: NodeSpec | undefined): number {
  return spec?.kind === 'tee' ? spec.channel_capacity : CAPACITY;
}

type Specs = ReadonlyMap<string, NodeSpec>;
type Reach = (from: string, to: string) => boolean;

function isProbe(edge: EdgeSpec, specs: Specs): boolean {
  const spec = specs.get(edge.to);
  return spec?.kind === 'join' && spec.probe.edge === edge.as;
}

/**
 * A join reads its build side to the end before it looks at the probe side. A tee that feeds this
 * probe edge through one of its edges, and the build side of any join through another, waits for
 * room on the first while that join waits for the second: nothing would ever move. Where no such
 * tee stands above, everything that a full probe edge holds up feeds nobody else.
 */
function mayBlock(
  probe: EdgeSpec,
  edges: readonly EdgeSpec[],
  { specs, reach }: { specs: Specs; reach: Reach },
): boolean {
  const builds = edges.filter((edge) => {
    const spec = specs.get(edge.to);
    return spec?.kind === 'join' && spec.build.edge === edge.as;
  });
  const leadsTo = (edge: EdgeSpec, target: EdgeSpec): boolean =>
    edge === target || reach(edge.to, target.from);
  return [...specs].some(([id, { kind }]) => {
    if (kind !== 'tee') return false;
    const out = edges.filter((edge) => edge.from === id);
    return out.some(
      (one) =>
        leadsTo(one, probe) &&
        out.some((other) => other !== one && builds.some((build) => leadsTo(other, build))),
    );
  });
}

/** Whether records get from one node to another; each node reaches itself. */
function reachOf(edges: readonly EdgeSpec[]): Reach {
  const known = new Map<string, ReadonlySet<string>>();
  const reached = (from: string): ReadonlySet<string> => {
    const found = known.get(from);
    if (found !== undefined) return found;
    const all = new Set([from]);
    for (const edge of edges)
      if (edge.from === from) for (const id of reached(edge.to)) all.add(id);
    known.set(from, all);
    return all;
  };
  return (from, to) => reached(from).has(to);
}

/**
 * Nodes that hand on records which nobody else holds, so that whoever gets them may change them. A
 * tee gives the same records to several; a transform copies such records before it changes them.
 */
function ownership({ nodes, edges }: Graph): ReadonlySet<string> {
  const owning = new Set<string>();
  for (const { id, spec } of nodes) {
    const feeders = edges.filter((edge) => edge.to === id);
    const relevant =
      spec.kind === 'join' ? feeders.filter((edge) => edge.as === spec.probe.edge) : feeders;
    if (spec.kind === 'tee') continue;
    const isCopying = spec.kind === 'transform' && (spec.transforms ?? []).length > 0;
    if (isCopying || relevant.every((edge) => owning.has(edge.from))) owning.add(id);
  }
  return owning;
}
