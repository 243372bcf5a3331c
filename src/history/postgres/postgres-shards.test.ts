/** A run that several servers execute in shards. */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, expect, it } from 'vitest';
import { aRun } from '../../../test/conformance/history.ts';
import { testEnv } from '../../../test/fakes/env.ts';
import { freshDatabase } from '../../../test/servers/postgres.ts';
import type { ClusterStore, OpenedHistory } from '../cluster.ts';
import { NOBODY, type RunEnding, type RunFence, type StoredRun } from '../history.ts';
import { openHistory } from '../open.ts';

const database = await freshDatabase();
const opened: OpenedHistory[] = [];
afterAll(async () => {
  for (const history of opened) await history.close();
  await database.drop();
});

let schemas = 0;

async function openTwo(): Promise<{
  history: OpenedHistory;
  one: ClusterStore;
  two: ClusterStore;
}> {
  const url = `${database.url}?schema=shards_${(schemas += 1)}`;
  const stores = [await openHistory(url, testEnv()), await openHistory(url, testEnv())];
  opened.push(...stores);
  const [first, second] = stores;
  if (first?.cluster === undefined || second?.cluster === undefined) throw new Error('no cluster');
  return { history: first, one: first.cluster, two: second.cluster };
}

const shard = (index: number) => ({
  run_id: `s${index}`,
  shard: { row: 'row-0', index, id: String(index), from: null, to: '7', nulls: false },
});
const request = (owner: string, limit = 9) => ({ owner, leaseMs: 60_000, limit });
const fenceOf = ({ run_id, owner, attempt }: StoredRun): RunFence => ({ run_id, owner, attempt });
const ending = (over: Partial<RunEnding> = {}): RunEnding => ({
  status: 'completed',
  finished_at: '2026-08-01T00:00:00.000Z',
  records_written: 5,
  invocations: [],
  error: null,
  ...over,
});

/** A run that was claimed and put into the queue in so many shards. */
async function split(count: number) {
  const stores = await openTwo();
  const { history, one } = stores;
  await history.admit(aRun('run', { owner: NOBODY }), { submission: { content: 'document' } });
  const [claimed] = await one.claimRuns({ ...request('one'), behind: {} });
  if (claimed === undefined) throw new Error('not claimed');
  const shards = Array.from({ length: count }, (_, index) => shard(index));
  expect(await one.shards.splitRun(fenceOf(claimed.run), shards)).toBe(true);
  return { ...stores, claimed };
}

const statusOf = async (history: OpenedHistory, id = 'run') => (await history.getRun(id))?.status;

it('is put into the queue once, by whoever has it', async () => {
  const { one, two, history, claimed } = await split(2);
  expect(await one.shards.splitRun(fenceOf(claimed.run), [shard(7)])).toBe(false);
  expect(await two.claimRuns({ ...request('two'), behind: {} })).toEqual([]);
  expect(await history.finishRun(fenceOf(claimed.run), ending())).toBe(false);
  expect(await history.listRuns({ limit: 9 })).toMatchObject({ runs: [{ run_id: 'run' }] });
});

it('tells the priorities of shards that wait, and gives none of a lower one than was asked for', async () => {
  const { history, one } = await openTwo();
  for (const priority of ['low', 'high'] as const) {
    await history.admit(aRun(priority, { owner: NOBODY, priority }), {
      submission: { content: 'document' },
    });
    const [claimed] = await one.claimRuns({ ...request('one'), behind: {} });
    if (claimed === undefined) throw new Error('not claimed');
    const shards = [{ ...shard(0), run_id: `${priority} shard` }];
    expect(await one.shards.splitRun(fenceOf(claimed.run), shards)).toBe(true);
  }
  await history.admit(aRun('waits', { owner: NOBODY }), { submission: { content: 'document' } });
  expect(await one.shards.waitingPriorities()).toEqual(['high', 'low']);
  const atLeast = 'high';
  expect(await one.claimRuns({ ...request('one'), behind: {}, atLeast })).toEqual([]);
  const claimed = await one.shards.claimShards({ ...request('one'), atLeast });
  expect(claimed.map(({ run }) => run.run_id)).toEqual(['high shard']);
  expect(await one.shards.waitingPriorities()).toEqual(['low']);
  const runs = await one.claimRuns({ ...request('one'), behind: {}, atLeast: 'normal' });
  expect(runs.map(({ run }) => run.run_id)).toEqual(['waits']);
});

it('gives each shard to one server, with what was submitted', async () => {
  const { one, two } = await split(4);
  const claimed = await Promise.all([
    one.shards.claimShards(request('one', 2)),
    two.shards.claimShards(request('two', 2)),
  ]);
  const ids = claimed.flat().map(({ run }) => run.run_id);
  expect([...new Set(ids)].sort()).toEqual([...ids].sort());
  const rest = await two.shards.claimShards(request('two'));
  expect([...ids, ...rest.map(({ run }) => run.run_id)].sort()).toEqual(['s0', 's1', 's2', 's3']);
  expect(claimed[0]?.[0]).toMatchObject({
    claim: 1,
    run: { parent_id: 'run', shard: { from: null, to: '7' }, status: 'running' },
    submission: { content: 'document' },
  });
});

it('ends with its last shard, once, whoever ends the last two at the same time', async () => {
  const { history, one, two } = await split(9);
  const claimed = await one.shards.claimShards(request('one'));
  const ends = await Promise.all(
    claimed.map(({ run }, index) =>
      (index % 2 === 0 ? one : two).shards.finishShard(fenceOf(run), ending()),
    ),
  );
  expect(ends.every(({ isRecorded }) => isRecorded)).toBe(true);
  expect(ends.filter(({ ended }) => ended !== undefined)).toHaveLength(1);
  const run = await history.getRun('run');
  expect(run).toMatchObject({ status: 'completed', records_written: 45, error: null });
  expect(run?.invocations.map(({ row_id }) => row_id)).toEqual(
    Array.from({ length: 9 }, (_, index) => `row-0::shard::${index}`),
  );
  expect(await one.shards.settleShards()).toEqual([]);
});

it('fails when one shard failed, and says how many did', async () => {
  const { history, one } = await split(3);
  const claimed = await one.shards.claimShards(request('one'));
  for (const { run } of claimed) {
    expect(await statusOf(history)).toBe('running');
    const isBad = run.run_id === 's1';
    const bad = { status: 'failed', error: 'no room', records_written: 2 } as const;
    await one.shards.finishShard(fenceOf(run), ending(isBad ? bad : {}));
  }
  expect(await history.getRun('run')).toMatchObject({
    status: 'failed',
    error: '1/3 shard(s) failed: 1: no room',
    records_written: 12,
  });
});

it('refuses the end of a shard that another server took over', async () => {
  const { history, one, two } = await split(1);
  const [old] = await one.shards.claimShards({ ...request('one'), leaseMs: 0 });
  await sleep(5);
  const lost = { maxAttempts: 1, error: 'given up' };
  expect(await two.reclaim(lost)).toMatchObject({ requeued: [], shards: { requeued: ['s0'] } });
  const [again] = await two.shards.claimShards({ ...request('two'), leaseMs: 0 });
  expect(again).toMatchObject({ claim: 2, run: { attempt: 1 } });
  if (old === undefined || again === undefined) throw new Error('not claimed');
  expect(await one.shards.finishShard(fenceOf(old.run), ending())).toEqual({ isRecorded: false });
  expect(await statusOf(history)).toBe('running');
  // Lost once more: it is given up, and the run is ended by whoever looks.
  await sleep(5);
  expect(await one.reclaim(lost)).toMatchObject({ shards: { failed: ['s0'] } });
  expect(await one.shards.settleShards()).toMatchObject([{ ended: { status: 'failed' } }]);
  expect(await two.shards.settleShards()).toEqual([]);
  expect(await two.shards.finishShard(fenceOf(again.run), ending())).toEqual({ isRecorded: false });
});

it('is cancelled with its shards: those not begun at once, the others when their servers obey', async () => {
  const { history, one, two } = await split(3);
  const [held] = await one.shards.claimShards(request('one', 1));
  if (held === undefined) throw new Error('not claimed');
  await history.requestCancel('run');
  expect(await two.shards.cancelShards('run')).toEqual({ running: [held.run.run_id] });
  expect(await one.shards.claimShards(request('one'))).toEqual([]);
  const self = {
    instance_id: 'one',
    host: 'h',
    pid: 1,
    pid_started: null,
    listen: null,
    started_at: '',
    seen_at: '',
    max_concurrent: 1,
    in_flight: 1,
  };
  expect((await one.beat(self, 60_000)).leases).toMatchObject([{ cancel_requested: true }]);
  const { ended } = await one.shards.finishShard(
    fenceOf(held.run),
    ending({ status: 'cancelled' }),
  );
  expect(ended).toMatchObject({ run_id: 'run', status: 'cancelled', records_written: 5 });
});

it('is cancelled at once when no shard has begun, also by whoever finds the wish', async () => {
  const { history, one } = await split(2);
  await history.requestCancel('run');
  expect(await one.shards.settleShards()).toMatchObject([{ ended: { status: 'cancelled' } }]);
  const again = await split(2);
  expect((await again.one.shards.cancelShards('run')).ended?.status).toBe('cancelled');
});

it('says how far it is, and goes with everything', async () => {
  const { history, one } = await split(4);
  const claimed = await one.shards.claimShards(request('one', 2));
  const [first, second] = claimed;
  if (first === undefined || second === undefined) throw new Error('not claimed');
  await one.shards.finishShard(fenceOf(first.run), ending());
  expect((await one.shards.shardProgress(['run'])).get('run')).toEqual({
    counts: { total: 4, completed: 1, failed: 0, cancelled: 0, running: 1, pending: 2 },
    records_written: 5,
  });
  await one.shards.finishShard(fenceOf(second.run), ending());
  for (const { run } of await one.shards.claimShards(request('one')))
    await one.shards.finishShard(fenceOf(run), ending());
  // Shards stay for as long as their run.
  await history.purge({ runsBefore: '2026-09-01' });
  expect(await history.getRun('s1')).toBeDefined();
  await history.purge({ runsBefore: '9999' });
  for (const id of ['run', 's0', 's1', 's2', 's3'])
    expect(await history.getRun(id)).toBeUndefined();
});

it('says when the run began, of which a server takes a shard', async () => {
  const { one, two } = await split(2);
  const claimed = [
    ...(await one.shards.claimShards({ ...request('one'), limit: 1 })),
    ...(await two.shards.claimShards({ ...request('two'), limit: 1 })),
  ];
  const [first, second] = claimed.map(({ runStartedAt }) => runStartedAt);
  expect(first).toMatch(/^\d{4}-.*Z$/);
  expect(second).toBe(first);
  for (const { run, runStartedAt = '' } of claimed)
    expect(run.started_at?.localeCompare(runStartedAt)).toBeGreaterThanOrEqual(0);
});

it('gives a shard back to the others', async () => {
  const { one, two } = await split(1);
  const [held] = await one.shards.claimShards(request('one'));
  if (held === undefined) throw new Error('not claimed');
  const done = { records_written: 0, invocations: [] };
  expect(await one.releaseRun(fenceOf(held.run), done)).toBe(true);
  expect(await two.claimRuns({ ...request('two'), behind: {} })).toEqual([]);
  expect(await two.shards.claimShards(request('two'))).toMatchObject([{ claim: 2 }]);
});
