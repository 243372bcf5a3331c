import { expect, test } from 'vitest';
import { Gate } from './gate.ts';

test('permits are given in the order of asking', async () => {
  const gate = new Gate(1);
  const order: string[] = [];
  const leave = await gate.enter();
  const waiting = ['a', 'b', 'c'].map(async (name) => {
    const release = await gate.enter();
    order.push(name);
    release();
  });
  expect(order).toEqual([]);
  leave();
  await Promise.all(waiting);
  expect(order).toEqual(['a', 'b', 'c']);
});

test('who waits leaves at once when its signal fires, and the others keep their place', async () => {
  const gate = new Gate(1);
  const leave = await gate.enter();
  const stop = new AbortController();
  const first = gate.enter();
  const second = gate.enter(stop.signal);
  const third = gate.enter();
  stop.abort(new Error('enough'));
  await expect(second).rejects.toThrow('enough');
  leave();
  (await first)();
  (await third)();
  await expect(gate.enter(stop.signal)).rejects.toThrow('enough');
});

test('a permit that is released twice is given back once', async () => {
  const gate = new Gate(1);
  const leave = await gate.enter();
  leave();
  leave();
  await gate.enter();
  let isIn = false;
  void gate.enter().then(() => (isIn = true));
  await new Promise((resolve) => setImmediate(resolve));
  expect(isIn).toBe(false);
});
