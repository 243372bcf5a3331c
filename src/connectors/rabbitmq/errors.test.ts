import { expect, test } from 'vitest';
import { rabbitmqError } from './errors.ts';

test.each([
  ["404 (NOT-FOUND) with message \"NOT_FOUND - no queue 'q' in vhost '/'\"", 'missing'],
  [
    "404 (NOT-FOUND) with message \"NOT_FOUND - home node 'rabbit@b' of durable queue 'q' in vhost '/' is down or inaccessible\"",
    'connection',
  ],
  [
    "404 (NOT-FOUND) with message \"NOT_FOUND - queue 'q' in vhost '/' process is stopped by supervisor\"",
    'connection',
  ],
  [
    "404 (NOT-FOUND) with message \"NOT_FOUND - failed to perform operation on queue 'q' in vhost '/' due to timeout\"",
    'connection',
  ],
])('%s is an error of the kind %s', (message, kind) => {
  const said = `Operation failed: QueueDeclare; ${message}`;
  expect(rabbitmqError(new Error(said), 'it cannot be read').kind).toBe(kind);
});
