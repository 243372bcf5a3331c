import { expect, test } from 'vitest';
import { Outages } from './outages.ts';

function outages() {
  const clock = { now: 0, elapsedMs: () => clock.now };
  return { clock, outages: new Outages(clock) };
}

test('a receiver that kept somebody waiting for nothing is left alone for half a minute', () => {
  const { clock, outages: known } = outages();
  clock.now = 1000;
  known.failed('http://a', 0);
  expect([known.isLeftAlone('http://a'), known.isLeftAlone('http://b')]).toEqual([true, false]);
  clock.now = 30_999;
  expect(known.isLeftAlone('http://a')).toBe(true);
  clock.now = 31_000;
  expect(known.isLeftAlone('http://a')).toBe(false);
});

test('one that refuses at once holds nobody up, and is asked again', () => {
  const { clock, outages: known } = outages();
  clock.now = 999;
  known.failed('http://a', 0);
  expect(known.isLeftAlone('http://a')).toBe(false);
});

test('of very many the latest are remembered', () => {
  const { clock, outages: known } = outages();
  clock.now = 1000;
  for (let index = 0; index <= 1000; index += 1) known.failed(`http://${index}`, 0);
  expect([
    known.isLeftAlone('http://0'),
    known.isLeftAlone('http://1'),
    known.isLeftAlone('http://1000'),
  ]).toEqual([false, true, true]);
});
