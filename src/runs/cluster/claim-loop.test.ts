import { afterEach, expect, it } from 'vitest';
import { testEnv } from '../../../test/fakes/env.ts';
import { HandClock, settled } from '../../../test/fakes/hand-clock.ts';
import type { ClaimedRun, ClaimRequest, ClusterStore } from '../../history/cluster.ts';
import { RUN_PRIORITIES, type RunPriority } from '../../wire/run-priority.ts';
import { ClaimLoop } from './claim-loop.ts';

const loops: ClaimLoop[] = [];
afterEach(async () => {
  for (const loop of loops.splice(0)) await loop.close();
});

/** A loop of a server with so many slots over a queue of so many runs. */
async function loopOver(queue: { runs: number }, slots: number, ahead = 0) {
  const clock = new HandClock();
  const seen = { looks: 0, shardLooks: 0, told: 0, running: 0 };
  const store = {
    claimRuns: async ({ limit }: ClaimRequest) => {
      seen.looks += 1;
      const count = Math.min(limit, queue.runs);
      queue.runs -= count;
      return Array.from({ length: count }, () => ({ run: { name: 'a' } }) as ClaimedRun);
    },
    shards: {
      waitingPriorities: async () => {
        seen.shardLooks += 1;
        return [];
      },
    },
  } as unknown as ClusterStore;
  const loop = new ClaimLoop({
    env: { ...testEnv(), clock },
    store,
    owner: 'me',
    leaseMs: 4000,
    pollMs: 2000,
    free: () => Math.max(0, slots - seen.running),
    ahead: () => ahead - Math.max(0, seen.running - slots),
    onClaimed: () => void (seen.running += 1),
    tellOthers: async () => void (seen.told += 1),
  });
  loops.push(loop);
  loop.begin();
  await settled();
  return { clock, seen, loop };
}

it('looks once for a run that was submitted here, and not again when it ends', async () => {
  const queue = { runs: 0 };
  const { seen, loop } = await loopOver(queue, 4);
  expect(seen).toMatchObject({ looks: 1, shardLooks: 1 });
  queue.runs = 1;
  loop.offer();
  await settled();
  expect(seen).toMatchObject({ looks: 2, shardLooks: 1, running: 1, told: 0 });
  seen.running = 0;
  loop.useRoom();
  await settled();
  expect(seen.looks).toBe(2);
});

/** A loop over runs and shards of these priorities, and what it takes in their order. */
async function taking(
  waiting: { readonly runs: RunPriority[]; readonly shards: RunPriority[] },
  slots: number,
  ahead = 0,
) {
  const taken: string[] = [];
  const first = (
    kind: 'runs' | 'shards',
    { limit, atLeast = 'low' }: Omit<ClaimRequest, 'behind'>,
  ) => {
    const rank = (one: RunPriority): number => RUN_PRIORITIES.indexOf(one);
    const fit = waiting[kind].filter((one) => rank(one) <= rank(atLeast));
    const some = fit.toSorted((a, b) => rank(a) - rank(b)).slice(0, limit);
    for (const one of some) waiting[kind].splice(waiting[kind].indexOf(one), 1);
    taken.push(...some.map((one) => `${one} ${kind}`));
    return Promise.resolve(some.map((priority) => ({ run: { priority } }) as ClaimedRun));
  };
  const store = {
    claimRuns: (request: ClaimRequest) => first('runs', request),
    shards: {
      claimShards: (request: ClaimRequest) => first('shards', request),
      waitingPriorities: async () => RUN_PRIORITIES.filter((one) => waiting.shards.includes(one)),
    },
  } as unknown as ClusterStore;
  const loop = new ClaimLoop({
    env: { ...testEnv(), clock: new HandClock() },
    store,
    owner: 'me',
    leaseMs: 4000,
    pollMs: 2000,
    free: () => slots - taken.length,
    ahead: () => ahead,
    onClaimed: () => {},
    tellOthers: async () => {},
  });
  loops.push(loop);
  loop.begin();
  await settled();
  return taken;
}

it('takes shards before runs of a lower priority, and behind those of their own', async () => {
  const waiting = {
    runs: ['low', 'high', 'normal', 'low', 'low'] satisfies RunPriority[],
    shards: ['normal', 'normal', 'normal', 'low'] satisfies RunPriority[],
  };
  expect(await taking(waiting, 7)).toEqual([
    'high runs',
    'normal runs',
    'normal shards',
    'normal shards',
    'normal shards',
    'low runs',
    'low runs',
  ]);
});

it('takes no run ahead of its slot while shards of a higher priority wait for one', async () => {
  const runs = Array.from({ length: 9 }, (): RunPriority => 'low');
  expect(await taking({ runs, shards: ['high', 'high', 'high'] }, 2, 8)).toEqual([
    'high shards',
    'high shards',
  ]);
});

it('goes on while there are runs and slots, and looks when a slot is free again', async () => {
  const queue = { runs: 40 };
  const { seen, loop } = await loopOver(queue, 20);
  expect([seen.running, queue.runs]).toEqual([20, 20]);
  seen.running = 15;
  loop.useRoom();
  await settled();
  expect([seen.running, queue.runs]).toEqual([20, 15]);
});

it('takes runs ahead of free slots where the look before found as many as it asked for', async () => {
  const queue = { runs: 40 };
  const { seen, loop } = await loopOver(queue, 2, 4);
  expect([seen.running, queue.runs, seen.looks]).toEqual([2, 38, 1]);
  seen.running = 1;
  loop.useRoom();
  await settled();
  expect([seen.running, queue.runs, seen.looks]).toEqual([6, 33, 2]);
});

it('takes none ahead where few wait: other servers may have a free slot for them', async () => {
  const queue = { runs: 1 };
  const { seen, loop } = await loopOver(queue, 2, 4);
  expect([seen.running, queue.runs]).toEqual([1, 0]);
  queue.runs = 8;
  loop.offer();
  await settled();
  expect([seen.running, queue.runs]).toEqual([2, 7]);
});

it('looks by itself after a while: what is announced may be lost', async () => {
  const queue = { runs: 0 };
  const { seen, clock } = await loopOver(queue, 1);
  queue.runs = 1;
  await clock.pass(1999);
  expect(seen.running).toBe(0);
  await clock.pass(1);
  expect(seen.running).toBe(1);
});

it('tells others of runs that it has no slot for, of many at once as of one', async () => {
  const { seen, clock, loop } = await loopOver({ runs: 9 }, 1);
  for (let n = 0; n < 5; n += 1) {
    loop.offer();
    await settled();
  }
  expect(seen.told).toBe(1);
  await clock.pass(50);
  expect(seen.told).toBe(2);
  await clock.pass(50);
  expect(seen.told).toBe(2);
  loop.offer();
  await settled();
  expect(seen.told).toBe(3);
});

it('looks a second time for a run that others seem to be taking', async () => {
  const queue = { runs: 0 };
  const { seen, clock, loop } = await loopOver(queue, 1);
  loop.offer();
  await settled();
  queue.runs = 1;
  await clock.pass(25);
  expect(seen.running).toBe(1);
});
