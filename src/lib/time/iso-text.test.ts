import { describe, expect, it } from 'vitest';
import * as fc from 'fast-check';
import {
  dateText,
  daysOf,
  nanosOfTime,
  nanosOfTimestamp,
  timestampText,
  timeText,
} from './iso-text.ts';

describe('days and times as text', () => {
  it('are those of the calendar of the runtime, as far as that goes', () => {
    for (const days of [0, -1, 59, 11_016, -719_528, 2_932_896, 99_999_999, -99_999_999])
      expect(dateText(days)).toBe(new Date(days * 86_400_000).toISOString().replace(/T.*/, ''));
  });

  it('go on beyond it', () => {
    expect(dateText(100_000_001)).toBe('+275760-09-14');
    expect(dateText(-100_000_001)).toBe('-271821-04-19');
    expect(dateText(2 ** 31 - 1)).toBe('+5881580-07-11');
    expect(timestampText((2n ** 63n - 1n) * 1000n, true)).toBe('+294247-01-10T04:00:54.775807Z');
    expect(timestampText(-(2n ** 63n) * 1000n, false)).toBe('-290308-12-21T19:59:05.224192');
  });

  it('have as many digits behind the second as are needed', () => {
    expect(timestampText(-1n, true)).toBe('1969-12-31T23:59:59.999999999Z');
    expect(timeText(1_500_000_000n)).toBe('00:00:01.500');
    expect(timeText(86_399_000_000_000n)).toBe('23:59:59');
    expect(timeText(-1000n)).toBe('-00:00:00.000001');
    expect(timeText(-90_000_000_000n)).toBe('-00:01:30');
  });
});

describe('texts as days and times', () => {
  it('give back the numbers that they were made of', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: -100_000_000, max: 100_000_000 }),
        fc.bigInt({ min: 0n, max: 86_399_999_999_999n }),
        fc.boolean(),
        (days, time, utc) => {
          const nanos = BigInt(days) * 86_400_000_000_000n + time;
          expect(daysOf(dateText(days))).toBe(days);
          expect(nanosOfTime(timeText(time))).toBe(time);
          expect(nanosOfTimestamp(timestampText(nanos, utc))).toBe(nanos);
        },
      ),
    );
  });

  it('are read in the spellings of databases', () => {
    expect(daysOf('0001-01-01 BC')).toBe(daysOf('0000-01-01'));
    expect(daysOf('0044-03-15 (BC)')).toBe(daysOf('-000043-03-15'));
    expect(daysOf('10000-01-01')).toBe(2_932_897);
    expect(nanosOfTimestamp('0044-03-15T12:00:00 BC')).toBe(
      nanosOfTimestamp('-000043-03-15T12:00:00'),
    );
    expect(nanosOfTimestamp('1970-01-01 01:30:00+01:30')).toBe(0n);
    expect(nanosOfTimestamp('1969-12-31 23:00:00-01')).toBe(0n);
    expect(nanosOfTime('24:00:00')).toBe(86_400_000_000_000n);
  });

  it.each([
    '2023-02-29',
    '2024-00-01',
    '2024-13-01',
    '2024-12-32',
    'infinity',
    '2024-1-1',
    '',
    'x',
  ])('%s is no day', (text) => {
    expect(daysOf(text)).toBeUndefined();
    expect(nanosOfTimestamp(`${text}T00:00:00`)).toBeUndefined();
  });

  it.each(['24:00:00.1', '23:60:00', '23:59:60', '1:00:00', '00:00:00.1234567891', ''])(
    '%s is no time',
    (text) => {
      expect(nanosOfTime(text)).toBeUndefined();
      expect(nanosOfTimestamp(`2024-01-01T${text}`)).toBeUndefined();
    },
  );
});
