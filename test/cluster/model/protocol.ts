/**
 * The protocol by which servers share a run, small enough to be explored completely. Two servers
 * take steps in any order; one that takes none is frozen, slow or cut off. A step is what happens at
 * once: a transaction of the history, one of a store, or an answer of a server to its worker.
 */

/** What can be left out, to see that it is needed. */
export interface Variant {
  /** A run is reclaimed although its lease has not ended. */
  readonly reclaimsHeld?: boolean;
  /** A server trusts its lease for longer than the others do. */
  readonly trustsTooLong?: boolean;
  /** A position is stored without looking at the mark. */
  readonly commitsUnmarked?: boolean;
  /** An execution does not ask whether it is still the owner when it has set its mark. */
  readonly neverAsksBehindMark?: boolean;
  /** Dead letters are written without asking. */
  readonly neverAsksForLetters?: boolean;
  /** The end is stored whoever the owner is. */
  readonly endsUnfenced?: boolean;
  /** The callback is sent before the end is stored. */
  readonly callsEarly?: boolean;
  /** Whoever sees an execution lost does not put it into the queue again. */
  readonly neverReclaims?: boolean;
}

/** How far the execution of a server has come. */
type Phase = 'idle' | 'claimed' | 'marked' | 'moving' | 'committed' | 'written' | 'ended';

interface Server {
  readonly phase: Phase;
  /** Number of its execution. */
  readonly claim: number;
  readonly attempt: number;
  /** Its own clock says that nobody else has the run. */
  readonly trusts: boolean;
  /** The position that it read. */
  readonly from: number;
}

export interface World {
  readonly status: 'queued' | 'running' | 'ended';
  /** 0: nobody. */
  readonly owner: number;
  readonly attempt: number;
  readonly claims: number;
  readonly leaseEnded: boolean;
  /** The execution that holds the lease of the state key; 0: none. */
  readonly mark: number;
  readonly position: number;
  readonly servers: readonly [Server, Server];
  /** How often each of these happened. */
  readonly ends: number;
  readonly callbacks: number;
  readonly isPoisoned: boolean;
  /** The latest execution that has set its mark. */
  readonly latestMark: number;
  /** What must not happen, and did. */
  readonly fault?: string;
}

const IDLE: Server = { phase: 'idle', claim: 0, attempt: 0, trusts: false, from: 0 };
const MAX_ATTEMPTS = 2;

export const START: World = {
  status: 'queued',
  owner: 0,
  attempt: 0,
  claims: 0,
  leaseEnded: false,
  mark: 0,
  position: 0,
  servers: [IDLE, IDLE],
  ends: 0,
  callbacks: 0,
  isPoisoned: false,
  latestMark: 0,
};

export interface Step {
  readonly name: string;
  readonly next: World;
}

/** Everything that can happen next. */
export function stepsOf(world: World, variant: Variant): readonly Step[] {
  if (world.fault !== undefined) return [];
  return [
    ...[0, 1].flatMap((index) => [
      ...ownSteps(world, index, variant),
      ...leaseSteps(world, index, variant),
    ]),
    ...timeSteps(world, variant),
  ];
}

function withServer(world: World, index: number, change: Partial<Server>): World {
  const [first, second] = world.servers;
  const servers: World['servers'] =
    index === 0 ? [{ ...first, ...change }, second] : [first, { ...second, ...change }];
  return { ...world, servers };
}

/** The next step of the execution itself. */
function ownSteps(world: World, index: number, variant: Variant): readonly Step[] {
  const server = world.servers[index] ?? IDLE;
  const { phase } = server;
  const step = (what: string, next: World): Step[] => [{ name: `${index + 1} ${what}`, next }];
  const set = (change: Partial<Server>, base = world): World => withServer(base, index, change);
  const lost = (): World => set(IDLE);
  switch (phase) {
    case 'idle':
      return world.status === 'queued' ? step('claims', claim(world, index)) : [];
    case 'claimed':
      return step('sets its mark', mark(world, index));
    case 'marked': {
      const isOwner = server.trusts || variant.neverAsksBehindMark === true;
      return step('asks', isOwner ? set({ phase: 'moving', from: world.position }) : lost());
    }
    case 'moving':
      return step('commits', commit(world, index, variant));
    case 'committed':
      return step('writes a dead letter', writeLetter(world, index, variant));
    case 'written':
      return step('ends', end(world, index, variant));
    case 'ended':
      return step('calls back', set(IDLE, called(world, variant.callsEarly === true ? 0 : 1)));
    default:
      return phase satisfies never;
  }
}

function claim(world: World, index: number): World {
  const claims = world.claims + 1;
  const running = {
    ...world,
    status: 'running',
    owner: index + 1,
    claims,
    leaseEnded: false,
  } as const;
  const { attempt } = world;
  return withServer(running, index, {
    ...IDLE,
    phase: 'claimed',
    claim: claims,
    attempt,
    trusts: true,
  });
}

function mark(world: World, index: number): World {
  const { claim: own } = world.servers[index] ?? IDLE;
  if (world.mark > own) return withServer(world, index, IDLE);
  const latestMark = Math.max(world.latestMark, own);
  return withServer({ ...world, mark: own, latestMark }, index, { phase: 'marked' });
}

function commit(world: World, index: number, { commitsUnmarked }: Variant): World {
  const { claim: own, from } = world.servers[index] ?? IDLE;
  if (world.mark !== own && commitsUnmarked !== true) return withServer(world, index, IDLE);
  const fault =
    world.latestMark > own
      ? 'an execution committed after a later one had begun'
      : from === world.position
        ? undefined
        : 'records were committed twice';
  return faulty(
    withServer({ ...world, position: world.position + 1 }, index, { phase: 'committed' }),
    fault,
  );
}

function writeLetter(world: World, index: number, { neverAsksForLetters }: Variant): World {
  const { claim: own, trusts } = world.servers[index] ?? IDLE;
  if (!trusts && neverAsksForLetters !== true) return withServer(world, index, IDLE);
  const fault =
    world.claims > own || world.isPoisoned
      ? 'an execution wrote a dead letter when the run was not its own any more'
      : undefined;
  return faulty(withServer(world, index, { phase: 'written' }), fault);
}

function end(world: World, index: number, { endsUnfenced, callsEarly }: Variant): World {
  const { attempt, claim: own } = world.servers[index] ?? IDLE;
  const before = callsEarly === true ? called(world, 1) : world;
  const isOwner =
    world.status === 'running' && world.owner === index + 1 && world.attempt === attempt;
  if (!isOwner && endsUnfenced !== true) return withServer(before, index, IDLE);
  // Its lease of the state key ends with the execution.
  const released = {
    ...before,
    status: 'ended',
    mark: before.mark === own ? 0 : before.mark,
  } as const;
  return withServer({ ...released, ends: world.ends + 1 }, index, { phase: 'ended' });
}

function called(world: World, times: number): World {
  return { ...world, callbacks: world.callbacks + times };
}

/** What servers do beside executing. */
function leaseSteps(world: World, index: number, variant: Variant): readonly Step[] {
  const server = world.servers[index] ?? IDLE;
  const steps: Step[] = [];
  const isRunning = world.status === 'running';
  const isOwner = isRunning && world.owner === index + 1 && server.phase !== 'idle';
  if (isOwner && (world.leaseEnded || !server.trusts))
    steps.push({
      name: `${index + 1} renews its lease`,
      next: withServer({ ...world, leaseEnded: false }, index, { trusts: true }),
    });
  if (isRunning && variant.neverReclaims !== true && (world.leaseEnded || variant.reclaimsHeld))
    steps.push({ name: `${index + 1} reclaims the run`, next: reclaim(world) });
  if (server.phase !== 'idle')
    steps.push({ name: `${index + 1} dies`, next: withServer(world, index, IDLE) });
  return steps;
}

function reclaim(world: World): World {
  const { attempt } = world;
  if (attempt < MAX_ATTEMPTS)
    return { ...world, status: 'queued', owner: 0, attempt: attempt + 1, leaseEnded: false };
  return { ...world, status: 'ended', ends: world.ends + 1, isPoisoned: true };
}

/** The clock of a server runs out before the lease that the others see. */
function timeSteps(world: World, { trustsTooLong }: Variant): readonly Step[] {
  const steps: Step[] = [0, 1]
    .filter((index) => world.servers[index]?.trusts === true)
    .map((index) => ({
      name: `the trust of ${index + 1} ends`,
      next: withServer(world, index, { trusts: false }),
    }));
  const owner = world.servers[world.owner - 1];
  const isTrusted = owner?.trusts === true && trustsTooLong !== true;
  if (world.status === 'running' && !world.leaseEnded && !isTrusted)
    steps.push({ name: 'the lease ends', next: { ...world, leaseEnded: true } });
  return steps;
}

function faulty(world: World, fault: string | undefined): World {
  return fault === undefined ? world : { ...world, fault };
}
