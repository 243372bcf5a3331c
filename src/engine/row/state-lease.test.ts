/** What a run stores of its position when it does not know whether another one has it. */
import { expect, test } from 'vitest';
import { testEnv } from '../../../test/fakes/env.ts';
import { FakeClock } from '../../../test/support/runs.ts';
import type { StateStore } from '../../kit/state-store.ts';
import { memoryState } from '../../state/memory.ts';
import { takeLease } from './state-lease.ts';

async function heldPosition(key: string) {
  const clock = new FakeClock();
  const env = testEnv({ clock });
  const store: StateStore = await memoryState.open({}, { env } as never);
  const request = { env, plan: { name: 'p' }, row: { id: 'r', state: undefined }, runId: 'mine' };
  const lease = await takeLease(request, store, key);
  const other = { token: 'other', ttlMs: 60_000, holder: {}, instead: 'mine' };
  const takeOver = () => store.lease(key, other);
  return { clock, store, lease, takeOver };
}

test('a run that was frozen until its lease had ended stores and deletes nothing of another one', async () => {
  const { clock, store, lease, takeOver } = await heldPosition('frozen');
  await lease.put('frozen', 1);
  await takeOver();
  await store.put('frozen', 7);
  await clock.advance(60_000);
  for (const change of [() => lease.put('frozen', 2), () => lease.delete('frozen')])
    await expect(change()).rejects.toMatchObject({ code: 'state_lease_lost' });
  expect(await store.get('frozen')).toBe(7);
  await lease.release();
});

test('one that nobody took over goes on', async () => {
  const { clock, store, lease } = await heldPosition('late');
  await clock.advance(60_000);
  await lease.put('late', 2);
  expect(await store.get('late')).toBe(2);
  await lease.release();
});
