import { expect, test } from 'vitest';
import { redisError } from './redis.ts';

test.each([
  ["READONLY You can't write against a read only replica.", 'connection'],
  ['UNBLOCKED force unblock from blocking operation, instance state changed', 'connection'],
  ['BUSY Redis is busy running a script.', 'connection'],
  ['NOREPLICAS Not enough good replicas to write.', 'connection'],
  ['ERR max number of clients reached', 'connection'],
  ["NOGROUP No such key 's' or consumer group 'g'", 'missing'],
  ['BUSYKEY Target key name already exists.', 'data'],
  ["OOM command not allowed when used memory > 'maxmemory'.", 'refused'],
])('%s is an error of the kind %s', (message, kind) => {
  expect(redisError(new Error(message), 'it cannot be read')).toMatchObject({
    kind,
    message: `it cannot be read: ${message}`,
  });
});

test.each([
  ['MOVED 3999 10.0.0.2:6381', 'write `10.0.0.2:6381` as host and port of `url`'],
  ['ASK 3999 10.0.0.2:6381', 'write `10.0.0.2:6381` as host and port of `url`'],
  ["CROSSSLOT Keys in request don't hash to the same slot", 'must be in one slot'],
])('%s is not asked for again, and it is told what to do', (message, hint) => {
  expect(redisError(new Error(message), 'it cannot be read')).toMatchObject({
    kind: 'refused',
    hint: expect.stringContaining(hint) as string,
  });
});
