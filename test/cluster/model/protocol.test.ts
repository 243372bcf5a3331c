/** Whatever two servers do in whatever order, a run has one owner that commits, and one end. */
import { expect, test } from 'vitest';
import { explore } from './explore.ts';
import type { Variant } from './protocol.ts';

test('everything that two servers can do keeps the promises of the cluster', () => {
  const { fault, worlds, depth } = explore();
  expect(fault).toBeUndefined();
  // All of it was seen: also ways of many more than ten steps.
  expect(worlds).toBeGreaterThan(500);
  expect(depth).toBeGreaterThan(10);
});

test.each<[keyof Variant, string]>([
  ['reclaimsHeld', 'dead letter when the run was not its own'],
  ['trustsTooLong', 'dead letter when the run was not its own'],
  ['commitsUnmarked', 'committed after a later one had begun'],
  ['neverAsksBehindMark', 'committed after a later one had begun'],
  ['neverAsksForLetters', 'dead letter when the run was not its own'],
  ['endsUnfenced', 'ended twice'],
  ['callsEarly', 'callback was sent'],
  ['neverReclaims', 'can never end'],
])('without its guard against `%s` it does not', (variant, what) => {
  const { fault } = explore({ [variant]: true });
  expect(fault?.what).toContain(what);
  expect(fault?.way.length).toBeGreaterThan(1);
});

test('the way to a fault is the shortest one', () => {
  expect(explore({ neverAsksBehindMark: true }).fault?.way).toMatchInlineSnapshot(`
    [
      "1 claims",
      "the trust of 1 ends",
      "the lease ends",
      "1 reclaims the run",
      "2 claims",
      "2 sets its mark",
      "2 asks",
      "2 commits",
      "2 writes a dead letter",
      "2 ends",
      "1 sets its mark",
      "1 asks",
      "1 commits",
    ]
  `);
});
