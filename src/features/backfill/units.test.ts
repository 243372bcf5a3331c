import { describe, expect, test } from 'vitest';
import { RefusedError } from '../../lib/errors.ts';
import { fnv1a64 } from '../../lib/text/fnv.ts';
import { planUnits, type RangeSpec } from './units.ts';

const plan = (range: Partial<RangeSpec>) =>
  planUnits(
    { from: '2026-01-01', to: '2026-01-03', window: '1d', timezone: 'UTC', ...range },
    'orders',
  );

describe('the units of a backfill (spec 1, section 4.4)', () => {
  test('are the windows of its range', () => {
    expect(plan({}).units).toEqual([
      {
        id: '20260101T000000Z',
        startsAt: new Date('2026-01-01T00:00:00Z'),
        start: '2026-01-01T00:00:00+00:00',
        end: '2026-01-02T00:00:00+00:00',
        tokens: {
          start: '2026-01-01T00:00:00+00:00',
          end: '2026-01-02T00:00:00+00:00',
          start_date: '2026-01-01',
          end_date: '2026-01-02',
          start_unix: 1_767_225_600,
          end_unix: 1_767_312_000,
          unit: '20260101T000000Z',
        },
      },
      expect.objectContaining({ id: '20260102T000000Z', end: '2026-01-03T00:00:00+00:00' }),
    ]);
  });

  test('begin at midnight in the zone, and times are those of the zone', () => {
    expect(plan({ timezone: 'Europe/Berlin', to: '2026-01-02' }).units).toMatchObject([
      {
        id: '20251231T230000Z',
        start: '2026-01-01T00:00:00+01:00',
        tokens: { start_date: '2026-01-01', end_date: '2026-01-02' },
      },
    ]);
  });

  test('are named after range, window and document; the same backfill has the same name', () => {
    const name = 'time|2026-01-01T00:00:00+00:00|2026-01-03T00:00:00+00:00|1d|orders';
    expect(plan({})).toMatchObject({ descriptor: name, hash: fnv1a64(name) });
    expect(plan({ from: '2026-01-01T00:00:00Z' }).hash).toBe(plan({}).hash);
    const windows = ['6h', '360m', 21_600, '21600s', undefined, '2w'].map(
      (window) => plan({ window }).descriptor.split('|')[3],
    );
    expect(windows).toEqual(['21600', '21600', '21600', '21600', 'whole', '2w']);
  });

  test('that cannot be are refused with what is wrong', () => {
    const refusal = (range: Partial<RangeSpec>): string => {
      try {
        plan(range);
      } catch (error) {
        if (error instanceof RefusedError && error.code === 'bad_config') return error.message;
      }
      return 'not refused';
    };
    expect(refusal({ from: 'yesterday' })).toBe(
      'from: `yesterday` is neither a date nor an RFC 3339 time',
    );
    expect(refusal({ to: '2026-02-30' })).toContain('to: `2026-02-30`');
    expect(refusal({ to: '2026-01-01' })).toContain('there is nothing between');
    expect(refusal({ from: '2026-01-04' })).toContain('there is nothing between');
    expect(refusal({ window: '1y' })).toContain('window: `1y`');
    expect(refusal({ timezone: '+02:00' })).toContain('timezone: `+02:00` is not a time zone');
    expect(refusal({ timezone: 'Mars/Base' })).toContain('timezone: `Mars/Base`');
    expect(refusal({ window: '1s' })).toBe('the range has more than 10000 units');
  });
});

test('names are those of FNV-1a', () => {
  expect(['', 'a', 'foobar'].map(fnv1a64)).toEqual([
    'cbf29ce484222325',
    'af63dc4c8601ec8c',
    '85944171f73967e8',
  ]);
});
