import { afterEach, expect, it } from 'vitest';
import { testEnv } from '../../../test/fakes/env.ts';
import { HandClock, settled } from '../../../test/fakes/hand-clock.ts';
import type { ClusterStore, Heartbeat } from '../../history/cluster.ts';
import type { Instance } from '../../history/history.ts';
import type { LiveRun } from '../service/live-run.ts';
import { Membership } from './membership.ts';

const LEASE_MS = 4000;

const members: Membership[] = [];
afterEach(async () => {
  for (const member of members.splice(0)) await member.close();
});

const never = (): Promise<never> => new Promise(() => {});
const heartbeat = (isExtended: boolean): Heartbeat => ({
  leases: [{ run_id: 'r', attempt: 0, cancel_requested: false, isExtended }],
  instances: 1,
  isWaiting: false,
});

/** A server that executes one run, and has said once that it lives. */
async function join() {
  const clock = new HandClock();
  const run = { trustedUntil: 0, isLost: false, hasLostTouch: false };
  const live = {
    fence: { run_id: 'r', owner: 'me', attempt: 0 },
    closing: false,
    get isOwned() {
      return clock.elapsed < run.trustedUntil;
    },
    trust: (until: number) => void (run.trustedUntil = until),
    lose: () => void (run.isLost = true),
    loseTouch: () => void (run.hasLostTouch = true),
  };
  const store = {
    beat: async () => heartbeat(true),
    beatAside: async () => heartbeat(true),
    members: async () => [],
    reclaim: async () => ({ requeued: [], failed: [], shards: { requeued: [], failed: [] } }),
    adoptWaiting: async () => [],
    shards: { settleShards: async () => [] },
  } as unknown as { -readonly [K in keyof ClusterStore]: ClusterStore[K] };
  const membership = new Membership({
    env: { ...testEnv(), clock },
    store,
    self: { instance_id: 'me', host: 'here' } as Instance,
    leaseMs: LEASE_MS,
    maxAttempts: 3,
    live: new Map([['r', live as unknown as LiveRun]]),
    inFlight: () => 1,
    onRequeued: () => {},
    onWaiting: () => {},
    onSettled: () => {},
  });
  members.push(membership);
  await membership.begin();
  return { clock, run, store, membership };
}

it('asks again for a lease when it is not answered, and trusts it from the second question on', async () => {
  const { clock, run, store, membership } = await join();
  const answers: (() => void)[] = [];
  store.beat = () => new Promise((resolve) => answers.push(() => resolve(heartbeat(true))));
  await clock.pass(1000);
  const askedAt = clock.elapsed;
  await clock.pass(999);
  expect(run.trustedUntil).toBeLessThan(askedAt + 0.85 * LEASE_MS);
  await clock.pass(1);
  expect(run.trustedUntil).toBe(askedAt + 1000 + 0.85 * LEASE_MS);
  for (let beats = 0; beats < 20; beats += 1) await clock.pass(500);
  expect([run.hasLostTouch, membership.instances]).toEqual([false, 1]);
  for (const answer of answers) answer();
  await settled();
});

it('stops what it executes when nothing is answered until others may take it', async () => {
  const { clock, run, store, membership } = await join();
  let fail = (): void => {};
  store.beat = () => new Promise((_, reject) => (fail = () => reject(new Error('away'))));
  store.beatAside = () => Promise.reject(new Error('away'));
  for (let parts = 0; parts < 8; parts += 1) await clock.pass((0.85 * LEASE_MS - 100) / 8);
  expect(run.hasLostTouch).toBe(false);
  await clock.pass(100);
  expect([run.hasLostTouch, membership.instances]).toEqual([true, 0]);
  fail();
  await settled();
});

it('stops a run whose lease could not be extended in time, though the server lives', async () => {
  const { clock, run, store, membership } = await join();
  store.beat = async () => heartbeat(false);
  for (let beats = 0; beats < 3; beats += 1) await clock.pass(LEASE_MS / 4);
  expect(run.hasLostTouch).toBe(false);
  await clock.pass(LEASE_MS / 4);
  expect([run.hasLostTouch, run.isLost, membership.instances]).toEqual([true, false, 1]);
});

it('extends its leases while it is held up in looking after others', async () => {
  const { clock, run, store } = await join();
  store.reclaim = never;
  for (let beats = 0; beats < 8; beats += 1) await clock.pass(LEASE_MS / 4);
  expect(run.hasLostTouch).toBe(false);
  expect(run.trustedUntil).toBe(clock.elapsed + 0.85 * LEASE_MS);
  // That ends with the server, whose history is closed.
  members.pop();
});
