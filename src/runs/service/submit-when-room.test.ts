import { expect, test } from 'vitest';
import { FakeClock, rest } from '../../../test/support/runs.ts';
import { RefusedError } from '../../lib/errors.ts';
import { createSubmitWhenRoom } from './submit-when-room.ts';

const never = new AbortController().signal;

test('a submission is tried until there is room, and every other refusal is passed on', async () => {
  const clock = new FakeClock();
  const whenRoom = createSubmitWhenRoom(clock);
  const refusals = [new RefusedError('queue_full', ''), new RefusedError('unavailable', '')];
  let tries = 0;
  const submitted = whenRoom(async () => {
    const refusal = refusals[tries++];
    if (refusal !== undefined) throw refusal;
    return 'run';
  }, never);
  await clock.advance(1000);
  expect([await submitted, tries]).toEqual(['run', 3]);
  const conflict = new RefusedError('conflict', 'no');
  await expect(whenRoom(() => Promise.reject(conflict), never)).rejects.toBe(conflict);
});

test('eight at a time: the others wait in their order, and none when the signal fires', async () => {
  const clock = new FakeClock();
  const whenRoom = createSubmitWhenRoom(clock);
  const stop = new AbortController();
  const tried: number[] = [];
  const all = Array.from({ length: 12 }, (_, n) =>
    whenRoom(() => {
      tried.push(n);
      return Promise.reject(new RefusedError('queue_full', ''));
    }, stop.signal).catch((error: unknown) => error),
  );
  await rest();
  expect(tried).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
  stop.abort(new Error('closed'));
  await rest();
  expect(await Promise.all(all)).toEqual(Array.from({ length: 12 }, () => new Error('closed')));
  expect(tried).toHaveLength(8);
});
