import { expect, test } from 'vitest';
import { eventClock } from '../../../test/fakes/event-clock.ts';
import { LastWords } from './last-words.ts';

test('what is still to be told is waited for, but not without end', async () => {
  const clock = eventClock();
  const lastWords = new LastWords();
  const slow = Promise.withResolvers<void>();
  lastWords.add(Promise.resolve());
  lastWords.add(slow.promise);
  let settled = false;
  const first = lastWords.settle(clock).then(() => (settled = true));
  await clock.pass(9999);
  expect(settled).toBe(false);
  slow.resolve();
  await first;

  lastWords.add(new Promise(() => {}));
  settled = false;
  void lastWords.settle(clock).then(() => (settled = true));
  await clock.pass(9999);
  expect(settled).toBe(false);
  await clock.pass(1);
  expect(settled).toBe(true);
});
