import { expect, it } from 'vitest';
import { kindOfStatus, retryAfterMs } from './status-kind.ts';

it.each([
  [400, 'refused'],
  [401, 'auth'],
  [403, 'auth'],
  [404, 'missing'],
  [407, 'auth'],
  [408, 'refused'],
  [410, 'missing'],
  [429, 'rate_limited'],
  [500, 'http_5xx'],
  [503, 'http_5xx'],
  [504, 'http_5xx'],
] as const)('%d is %s', (status, kind) => {
  expect(kindOfStatus(status)).toBe(kind);
});

it.each([
  ['3', 3000],
  [' 0.5 ', 500],
  ['Thu, 01 Jan 2026 00:00:05 GMT', 5000],
  ['Wed, 31 Dec 2025 00:00:00 GMT', undefined],
  ['0', undefined],
  ['-5', undefined],
  ['99999999999999999999', 1e23],
  ['soon', undefined],
  [null, undefined],
])('Retry-After of %j is a wait of %j ms', (value, waitMs) => {
  expect(retryAfterMs(value, new Date('2026-01-01T00:00:00Z'))).toBe(waitMs);
});
