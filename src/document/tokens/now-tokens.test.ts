import { DateTime } from 'luxon';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { nowFault, renderNow } from './now-tokens.ts';

const utc = { date: new Date('2026-01-05T03:04:09Z'), zone: 'UTC' };
const tokyo = { ...utc, zone: 'Asia/Tokyo' };

describe('the clock of a run (spec 2.5)', () => {
  test.each([
    ['date', '2026-01-05'],
    ['datetime', '2026-01-05T03:04:09+00:00'],
    ['iso', '2026-01-05T03:04:09+00:00'],
    ['year', '2026'],
    ['month', '01'],
    ['day', '05'],
    ['hour', '03'],
    ['minute', '04'],
    ['second', '09'],
    ['unix', '1767582249'],
    ['strftime.%Y/%m/%d', '2026/01/05'],
    ['strftime.%H:%M', '03:04'],
    ['strftime.%-d.%-m. %e|%j|%A %b %p %I %%', '5.1.  5|005|Monday Jan AM 03 %'],
    ['strftime.%G-W%V-%u %U %W %w', '2026-W02-1 01 01 1'],
    ['strftime.plain', 'plain'],
  ])('%s', (name, expected) => {
    expect(nowFault(name)).toBeUndefined();
    expect(renderNow(name, utc)).toBe(expected);
  });

  test('is seen in its zone', () => {
    expect(renderNow('iso', tokyo)).toBe('2026-01-05T12:04:09+09:00');
    expect(renderNow('strftime.%z %:z %H', tokyo)).toBe('+0900 +09:00 12');
    expect(renderNow('unix', tokyo)).toBe(renderNow('unix', utc));
  });

  test('milliseconds are kept when there are some', () => {
    expect(renderNow('iso', { date: new Date('2026-01-05T03:04:09.070Z'), zone: 'UTC' })).toBe(
      '2026-01-05T03:04:09.070+00:00',
    );
  });

  test('RFC 3339 text names the same instant', () => {
    fc.assert(
      fc.property(
        fc.date({ min: new Date('1970-01-01'), max: new Date('2200-01-01'), noInvalidDate: true }),
        (date) => {
          expect(
            DateTime.fromISO(renderNow('iso', { date, zone: 'America/New_York' })).toMillis(),
          ).toBe(date.getTime());
        },
      ),
    );
  });
});

describe('what is no token', () => {
  test.each([
    '',
    'dat',
    'Date',
    'strftime',
    'strftime.',
    'strftime.%',
    'strftime.%Q',
    'strftime.%:H',
    'toString',
  ])('%j', (name) => {
    expect(nowFault(name)?.message).toContain('now');
  });

  test('the valid ones are listed or the near one named', () => {
    expect(nowFault('dat')?.hint).toBe('did you mean `date`?');
    expect(nowFault('xyzxyz')?.hint).toContain('strftime.<format>');
  });
});
