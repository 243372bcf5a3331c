import { expect, it } from 'vitest';
import { isCalendarDate, parseMoment, parseRfc3339 } from './rfc3339.ts';

it.each([
  ['2026-08-01T12:00:00Z', '2026-08-01T12:00:00.000Z'],
  ['2026-08-01t12:00:00z', '2026-08-01T12:00:00.000Z'],
  ['2026-08-01 12:00:00+02:00', '2026-08-01T10:00:00.000Z'],
  ['2026-08-01T12:00:00.123456789-01:30', '2026-08-01T13:30:00.123Z'],
  ['2024-02-29T23:59:59Z', '2024-02-29T23:59:59.000Z'],
])('%s names an instant', (text, instant) => {
  expect(parseRfc3339(text)?.toISOString()).toBe(instant);
});

it.each([
  '',
  'now',
  '2026-08-01',
  '2026-08-01T12:00:00',
  '2026-08-01T12:00Z',
  '2026-08-01T24:00:00Z',
  '2026-08-01T25:00:00Z',
  '2026-02-30T12:00:00Z',
  '2025-02-29T12:00:00Z',
  '2026-13-01T12:00:00Z',
  '2026-08-01T12:00:00.1234567890Z',
  '2026-08-01T12:00:00+0200',
  ' 2026-08-01T12:00:00Z',
])('%j is not an RFC 3339 time', (text) => {
  expect(parseRfc3339(text)).toBeUndefined();
});

it('knows how long each month is', () => {
  expect(isCalendarDate('2026-04-30')).toBe(true);
  expect(isCalendarDate('2026-04-31')).toBe(false);
  expect(isCalendarDate('2000-02-29')).toBe(true);
  expect(isCalendarDate('1900-02-29')).toBe(false);
});

it('takes a bare date for its midnight', () => {
  expect(parseMoment('2026-08-01')?.toISOString()).toBe('2026-08-01T00:00:00.000Z');
  expect(parseMoment('2026-08-01T12:00:00+02:00')?.toISOString()).toBe('2026-08-01T10:00:00.000Z');
  expect([parseMoment('2026-02-30'), parseMoment('2026-8-1'), parseMoment('')]).toEqual([
    undefined,
    undefined,
    undefined,
  ]);
});
