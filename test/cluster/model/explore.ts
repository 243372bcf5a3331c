/** Walks through everything that can happen, and says what must not. */
import { START, stepsOf, type Variant, type World } from './protocol.ts';

export interface Exploration {
  /** Different situations that were reached. */
  readonly worlds: number;
  /** Steps of the longest way that is no detour. */
  readonly depth: number;
  /** The first thing that is wrong, and the shortest way to it. */
  readonly fault?: { readonly what: string; readonly way: readonly string[] };
}

interface Reached {
  readonly world: World;
  readonly from: string | undefined;
  readonly by: string;
  readonly depth: number;
}

/** Breadth first, until there is nothing new. */
export function explore(variant: Variant = {}): Exploration {
  const start = keyOf(START);
  const reached = new Map<string, Reached>([
    [start, { world: START, from: undefined, by: '', depth: 0 }],
  ]);
  const before = new Map<string, string[]>();
  let depth = 0;
  // A map grows while it is walked.
  for (const [key, { world, depth: at }] of reached) {
    const what = faultOf(world);
    if (what !== undefined)
      return { worlds: reached.size, depth: at, fault: { what, way: wayTo(key, reached) } };
    depth = at;
    for (const { name, next } of stepsOf(world, variant)) {
      const to = keyOf(next);
      if (!reached.has(to)) reached.set(to, { world: next, from: key, by: name, depth: at + 1 });
      before.set(to, [...(before.get(to) ?? []), key]);
    }
  }
  const stuck = neverEnds(reached, before);
  if (stuck === undefined) return { worlds: reached.size, depth };
  const fault = { what: 'the run can never end', way: wayTo(stuck, reached) };
  return { worlds: reached.size, depth, fault };
}

const keyOf = (world: World): string => JSON.stringify(world);

function faultOf({ fault, ends, callbacks, status, isPoisoned }: World): string | undefined {
  if (fault !== undefined) return fault;
  if (ends > 1) return 'the run ended twice';
  if (callbacks > 1) return 'its callback was sent twice';
  if (callbacks > 0 && (status !== 'ended' || isPoisoned))
    return 'its callback was sent for an end that is not its own';
  return undefined;
}

/** A situation from which no way leads to an end. */
function neverEnds(
  reached: ReadonlyMap<string, Reached>,
  before: ReadonlyMap<string, readonly string[]>,
): string | undefined {
  const ending = [...reached].filter(([, { world }]) => world.ends === 1).map(([key]) => key);
  const seen = new Set(ending);
  for (const key of seen) for (const one of before.get(key) ?? []) seen.add(one);
  return [...reached.keys()].find((key) => !seen.has(key));
}

function wayTo(key: string, reached: ReadonlyMap<string, Reached>): string[] {
  const way: string[] = [];
  for (let at = reached.get(key); at?.from !== undefined; at = reached.get(at.from))
    way.unshift(at.by);
  return way;
}
