import { expect, test } from 'vitest';
import { eventClock } from '../../../test/fakes/event-clock.ts';
import { PendingNotifications } from './pending-notifications.ts';

test('what is still to be reported is waited for, but not without end', async () => {
  const clock = eventClock();
  const pendingNotifications = new PendingNotifications();
  const slow = Promise.withResolvers<void>();
  pendingNotifications.add(Promise.resolve());
  pendingNotifications.add(slow.promise);
  let settled = false;
  const first = pendingNotifications.settle(clock).then(() => (settled = true));
  await clock.pass(9999);
  expect(settled).toBe(false);
  slow.resolve();
  await first;

  pendingNotifications.add(new Promise(() => {}));
  settled = false;
  void pendingNotifications.settle(clock).then(() => (settled = true));
  await clock.pass(9999);
  expect(settled).toBe(false);
  await clock.pass(1);
  expect(settled).toBe(true);
});
