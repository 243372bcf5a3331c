import { MongoServerError } from 'mongodb';
import { expect, test } from 'vitest';
import { mongoError } from './errors.ts';

test.each([
  [24, 'LockTimeout', 'connection'],
  [134, 'ReadConcernMajorityNotAvailableYet', 'connection'],
  [175, 'QueryPlanKilled', 'connection'],
  [202, 'NetworkInterfaceExceededTimeLimit', 'timeout'],
  [189, 'PrimarySteppedDown', 'connection'],
  [13, 'Unauthorized', 'refused'],
  [2, 'BadValue', 'data'],
])('the code %i (%s) is an error of the kind %s', (code, message, kind) => {
  const error = new MongoServerError({ code, message });
  expect(mongoError(error, 'it cannot be read').kind).toBe(kind);
});
