import * as fc from 'fast-check';
import { DateTime } from 'luxon';
import { describe, expect, test } from 'vitest';
import { cutSpan, windowTokens, WINDOW_TOKENS, type SpanSpec } from './windows.ts';

function windows(span: Partial<SpanSpec>) {
  const result = cutSpan(
    { from: '2026-01-01', to: '2026-02-01', window: undefined, timezone: 'UTC', ...span },
    1000,
  );
  if ('fault' in result) throw new Error(result.fault);
  return result.windows;
}

const starts = (span: Partial<SpanSpec>): (string | null)[] =>
  windows(span).map(({ start }) => start.toISO({ suppressMilliseconds: true }));

describe('a span of time', () => {
  test('without a window is one', () => {
    expect(windows({}).map(windowTokens)).toEqual([
      {
        start: '2026-01-01T00:00:00+00:00',
        end: '2026-02-01T00:00:00+00:00',
        start_date: '2026-01-01',
        end_date: '2026-02-01',
        start_unix: 1_767_225_600,
        end_unix: 1_769_904_000,
      },
    ]);
  });

  test('is cut at calendar days of the zone, also where a day has 23 or 25 hours', () => {
    const hours = (from: string, to: string, timezone: string): number[] =>
      windows({ from, to, window: '1d', timezone }).map(
        ({ start, end }) => end.diff(start, 'hours').hours,
      );
    expect(hours('2026-03-28', '2026-03-31', 'Europe/Berlin')).toEqual([24, 23, 24]);
    expect(hours('2026-10-24', '2026-10-27', 'Europe/Berlin')).toEqual([24, 25, 24]);
    // Here the clocks change at midnight: a day without a midnight begins at one.
    expect(hours('2018-11-03', '2018-11-06', 'America/Sao_Paulo')).toEqual([24, 23, 24]);
    expect(
      starts({ from: '2018-11-03', to: '2018-11-05', window: '1d', timezone: 'America/Sao_Paulo' }),
    ).toEqual(['2018-11-03T00:00:00-03:00', '2018-11-04T01:00:00-02:00']);
    expect(hours('2019-02-15', '2019-02-18', 'America/Sao_Paulo')).toEqual([24, 25, 24]);
  });

  test('is cut at weeks counted from its start, the last one cut off', () => {
    expect(starts({ window: '1w', to: '2026-01-20' })).toEqual([
      '2026-01-01T00:00:00Z',
      '2026-01-08T00:00:00Z',
      '2026-01-15T00:00:00Z',
    ]);
    expect(windows({ window: '1w', to: '2026-01-20' }).at(-1)?.end.toISODate()).toBe('2026-01-20');
  });

  test('in hours is elapsed time, whatever the clocks show', () => {
    expect(
      starts({
        from: '2026-03-29',
        to: '2026-03-29T06:00:00+02:00',
        window: '2h',
        timezone: 'Europe/Berlin',
      }),
    ).toEqual([
      '2026-03-29T00:00:00+01:00',
      '2026-03-29T03:00:00+02:00',
      '2026-03-29T05:00:00+02:00',
    ]);
  });

  test('that is empty, or has more windows than are possible, is refused', () => {
    const cut = (to: string, most = 3) =>
      cutSpan({ from: '2026-01-01', to, window: '1d', timezone: 'UTC' }, most);
    expect(cut('2026-01-01')).toEqual({ fault: 'empty' });
    expect(cut('2025-12-31')).toEqual({ fault: 'empty' });
    expect(cut('2026-01-05')).toEqual({ fault: 'too many' });
    expect(cut('2026-01-04')).toHaveProperty('windows.length', 3);
  });

  test('is covered once, window by window, in every zone', () => {
    const zone = fc.constantFrom(
      'UTC',
      'Europe/Berlin',
      'America/Sao_Paulo',
      'Asia/Beirut',
      'Australia/Lord_Howe',
      'Pacific/Apia',
      'Asia/Kathmandu',
    );
    const moment = fc.integer({
      min: Date.parse('2010-01-01') / 1000,
      max: Date.parse('2027-01-01') / 1000,
    });
    const size = fc.oneof(
      fc.integer({ min: 1, max: 40 }).map((count) => `${count}d`),
      fc.integer({ min: 1, max: 6 }).map((count) => `${count}w`),
      fc.integer({ min: 1, max: 900 }).map((count) => `${count}h`),
      fc.integer({ min: 3600, max: 90_000 }),
      fc.constant(undefined),
    );
    fc.assert(
      fc.property(
        zone,
        moment,
        fc.integer({ min: 1, max: 400 * 3600 }),
        size,
        (timezone, at, seconds, window) => {
          const [from = '', to = ''] = [at, at + seconds].map((second) =>
            new Date(second * 1000).toISOString(),
          );
          const list = windows({ from, to, window, timezone });
          expect(list[0]?.start.toSeconds()).toBe(at);
          expect(list.at(-1)?.end.toSeconds()).toBe(at + seconds);
          for (const [index, { start, end }] of list.entries()) {
            expect(end > start).toBe(true);
            if (index > 0) expect(start.toMillis()).toBe(list[index - 1]?.end.toMillis());
          }
          expect(new Set(list.map(({ id }) => id)).size).toBe(list.length);
        },
      ),
      { numRuns: 300 },
    );
  });

  test('has just the tokens that documents may name', () => {
    const [first] = windows({});
    expect(first === undefined ? [] : Object.keys(windowTokens(first))).toEqual(WINDOW_TOKENS);
    expect(first?.start).toEqual(DateTime.fromISO('2026-01-01', { zone: 'UTC' }));
  });
});
