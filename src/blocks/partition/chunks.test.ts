import * as fc from 'fast-check';
import { DateTime } from 'luxon';
import { describe, expect, test } from 'vitest';
import { check } from '../../kit/schema.ts';
import { partitionSchema } from './schema.ts';
import { CHUNK_TOKENS, cut, type Chunk } from './chunks.ts';
import { parseWindow } from '../../document/ranges/windows.ts';

function chunks(spec: unknown, found?: bigint): readonly Chunk[] {
  const result = cut(partitionSchema.parse(spec), found);
  if ('fault' in result) throw new Error(result.fault);
  return result.chunks;
}
const tokens = (spec: unknown, names: readonly string[], found?: bigint) =>
  chunks(spec, found).map((chunk) => names.map((name) => chunk.tokens[name]));
const probe = { from_source: { type: 'x' }, value_path: '$.n' };
const issuesOf = (spec: unknown): string[] => {
  const result = check(partitionSchema, spec, 'partition');
  return result.ok ? [] : result.issues.map(({ code, path }) => `${code} ${path}`);
};

describe('a range of integers (spec 2.14)', () => {
  const base = { kind: 'integer', from: 1, to: 10, chunk_size: 4 };

  test('is cut with ends that belong to their chunk, or begin the next one', () => {
    expect(tokens({ ...base, bounds: 'inclusive' }, ['start', 'end'])).toEqual([
      [1, 4],
      [5, 8],
      [9, 10],
    ]);
    expect(tokens({ ...base, bounds: 'half_open' }, ['start', 'end'])).toEqual([
      [1, 5],
      [5, 9],
      [9, 10],
    ]);
  });

  test('whose end was found has no end, unless that is switched off', () => {
    const found = { ...base, to: probe, bounds: 'inclusive' };
    expect(tokens(found, ['start', 'end'], 6n)).toEqual([
      [1, 4],
      [5, 2n ** 63n - 1n],
    ]);
    expect(tokens({ ...found, to_unbounded: false }, ['end'], 6n)).toEqual([[4], [6]]);
    // The greatest value that was found is part of the range.
    expect(
      tokens({ ...found, bounds: 'half_open', to_unbounded: false }, ['start', 'end'], 5n),
    ).toEqual([
      [1, 5],
      [5, 6],
    ]);
    expect(tokens({ ...base, bounds: 'inclusive', to_unbounded: true }, ['end']).at(-1)).toEqual([
      2n ** 63n - 1n,
    ]);
  });

  test('stays exact beyond the numbers of a double', () => {
    const big = {
      kind: 'integer',
      from: '9007199254740993',
      to: 9007199254740996n,
      chunk_size: 2,
      bounds: 'inclusive',
    };
    expect(tokens(big, ['start', 'end'])).toEqual([
      [9007199254740993n, 9007199254740994n],
      [9007199254740995n, 9007199254740996n],
    ]);
  });

  test('without anything in it, with an end below its start, or with too many chunks is refused', () => {
    expect(issuesOf({ ...base, bounds: 'inclusive', from: 11 })).toEqual([
      'out_of_range partition',
    ]);
    expect(issuesOf({ ...base, bounds: 'half_open', from: 10 })).toEqual([
      'out_of_range partition',
    ]);
    expect(issuesOf({ ...base, bounds: 'inclusive', to: 40_001 })).toEqual([
      'out_of_range partition',
    ]);
    expect(issuesOf({ ...base, bounds: 'inclusive', to: 40_000 })).toEqual([]);
    expect(() => chunks({ ...base, to: probe, bounds: 'inclusive' }, 0n)).toThrow('below `from`');
  });

  test('has to say how its bounds are meant, and of what size its chunks are', () => {
    expect(issuesOf({ ...base, chunk_size: 0 })).toEqual([
      'out_of_range partition.chunk_size',
      'missing_key partition.bounds',
    ]);
    expect(
      issuesOf({
        ...base,
        bounds: 'inclusive',
        to: { from_source: { type: 'x' }, value_path: 'a[*]' },
      }),
    ).toEqual(['invalid_path partition.to.value_path']);
  });

  test('is covered exactly once, whatever its bounds', () => {
    const bound = fc.bigInt({ min: -(2n ** 62n), max: 2n ** 62n });
    fc.assert(
      fc.property(
        bound,
        fc.bigInt({ min: 1n, max: 500n }),
        fc.bigInt({ min: 1n, max: 60n }),
        fc.constantFrom('inclusive', 'half_open'),
        (from, width, size, bounds) => {
          const to = from + width - (bounds === 'inclusive' ? 1n : 0n);
          const spec = {
            kind: 'integer',
            from: String(from),
            to: String(to),
            chunk_size: String(size),
            bounds,
          };
          let next = from;
          for (const [start, end] of tokens(spec, ['start', 'end'])) {
            expect(BigInt(start as number)).toBe(next);
            const after = BigInt(end as number) + (bounds === 'inclusive' ? 1n : 0n);
            expect(after > next && after - next <= size).toBe(true);
            next = after;
          }
          expect(next).toBe(from + width);
        },
      ),
    );
  });
});

describe('a number of records', () => {
  test('is cut into offsets, the last with what is left', () => {
    expect(
      tokens({ kind: 'offset', total: 10, chunk_size: 4 }, ['offset', 'limit', 'index', 'id']),
    ).toEqual([
      [0, 4, 0, '0'],
      [4, 4, 1, '1'],
      [8, 2, 2, '2'],
    ]);
    expect(chunks({ kind: 'offset', total: 0, chunk_size: 4 })).toEqual([]);
    expect(chunks({ kind: 'offset', total: probe, chunk_size: 4 }, 5n)).toHaveLength(2);
    expect(() => chunks({ kind: 'offset', total: probe, chunk_size: 4 }, -1n)).toThrow(
      'less than 0',
    );
  });

  test('has ids that sort as they are numbered', () => {
    const ids = chunks({ kind: 'offset', total: 1200, chunk_size: 1 }).map(({ id }) => id);
    expect([ids[0], ids.at(-1)]).toEqual(['0000', '1199']);
    expect([...ids].sort()).toEqual(ids);
  });
});

describe('a span of time', () => {
  const days = (from: string, to: string, timezone: string, size: string | number = '1d') => ({
    kind: 'timestamp',
    from,
    to,
    chunk_size: size,
    timezone,
  });

  test('in days begins at local midnight, also where clocks are changed', () => {
    expect(tokens(days('2026-03-28', '2026-03-31', 'Europe/Oslo'), ['start', 'end'])).toEqual([
      ['2026-03-28T00:00:00+01:00', '2026-03-29T00:00:00+01:00'],
      ['2026-03-29T00:00:00+01:00', '2026-03-30T00:00:00+02:00'],
      ['2026-03-30T00:00:00+02:00', '2026-03-31T00:00:00+02:00'],
    ]);
  });

  test('in hours is elapsed time', () => {
    expect(
      tokens(days('2026-03-28', '2026-03-31', 'Europe/Oslo', '24h'), ['start']).flat(),
    ).toEqual([
      '2026-03-28T00:00:00+01:00',
      '2026-03-29T00:00:00+01:00',
      '2026-03-30T01:00:00+02:00',
    ]);
  });

  test('begins a day without midnight at its first moment, and a doubled time at the first of the two', () => {
    // Beirut went from 23:59 to 01:00; Azores clocks show 00:00 to 01:00 twice.
    expect(tokens(days('2022-03-27', '2022-03-28', 'Asia/Beirut'), ['start']).flat()).toEqual([
      '2022-03-27T01:00:00+03:00',
    ]);
    expect(
      tokens(days('2026-10-25', '2026-10-26', 'Atlantic/Azores'), ['start', 'end_unix'])[0],
    ).toEqual([
      '2026-10-25T00:00:00+00:00',
      DateTime.fromISO('2026-10-26T00:00:00-01:00').toSeconds(),
    ]);
  });

  test('leaves a day out that a zone never had', () => {
    expect(
      tokens(days('2011-12-29', '2012-01-01', 'Pacific/Apia'), ['start_date', 'end_date']),
    ).toEqual([
      ['2011-12-29', '2011-12-31'],
      ['2011-12-31', '2012-01-01'],
    ]);
  });

  test('names chunks by their start in UTC, and has tokens of every form', () => {
    const [chunk] = chunks(days('2026-01-01', '2026-01-02T12:00:00Z', 'Asia/Tokyo', '1w'));
    expect(chunk).toEqual({
      id: '20251231T150000Z',
      tokens: {
        start: '2026-01-01T00:00:00+09:00',
        end: '2026-01-02T21:00:00+09:00',
        start_date: '2026-01-01',
        end_date: '2026-01-02',
        start_unix: 1767193200,
        end_unix: 1767355200,
        index: 0,
        id: '20251231T150000Z',
      },
    });
  });

  test('that cannot be read or holds nothing is refused with its place', () => {
    expect(issuesOf(days('2026-02-30', 'x', 'UTC', '0d'))).toEqual([
      'invalid_value partition.from',
      'invalid_value partition.to',
      'invalid_value partition.chunk_size',
    ]);
    expect(issuesOf(days('2026-01-01', '2026-01-02', 'Mars/Base'))).toEqual([
      'invalid_value partition.timezone',
    ]);
    expect(issuesOf(days('2026-01-02', '2026-01-02', 'UTC'))).toEqual(['out_of_range partition']);
    expect(issuesOf(days('2026-01-01', '2026-01-02', 'UTC', '1s'))).toEqual([
      'out_of_range partition',
    ]);
    expect(['1d', '2w', '90m', 30, '30', '1y', '-1d', '', 0].map(parseWindow)).toEqual([
      { days: 1 },
      { days: 14 },
      { seconds: 5400 },
      { seconds: 30 },
      { seconds: 30 },
      undefined,
      undefined,
      undefined,
      undefined,
    ]);
  });

  test('begins where it is said to, also in an hour that the clocks there show a second time', () => {
    const from = '2017-02-19T02:00:00Z';
    const spec = {
      kind: 'timestamp',
      from,
      to: '2017-02-21T00:00:00Z',
      chunk_size: '1d',
      timezone: 'America/Sao_Paulo',
    };
    expect(tokens(spec, ['start_unix']).map(([start]) => start)).toEqual([
      1_487_469_600, 1_487_556_000,
    ]);
  });

  test('is covered exactly once in every zone', () => {
    const zones = fc.constantFrom(
      'UTC',
      'Europe/Oslo',
      'Asia/Beirut',
      'Atlantic/Azores',
      'America/Sao_Paulo',
      'Australia/Lord_Howe',
      'Pacific/Apia',
    );
    const moment = fc.integer({
      min: Date.parse('2010-01-01') / 1000,
      max: Date.parse('2027-01-01') / 1000,
    });
    const size = fc.oneof(
      fc.integer({ min: 1, max: 9 }).map((count) => `${count}d`),
      fc.integer({ min: 1, max: 900 }).map((count) => `${count}h`),
    );
    fc.assert(
      fc.property(
        zones,
        moment,
        fc.integer({ min: 1, max: 400 * 3600 }),
        size,
        (timezone, at, seconds, window) => {
          const [from, to] = [at, at + seconds].map((second) =>
            new Date(second * 1000).toISOString(),
          );
          const list = tokens({ kind: 'timestamp', from, to, chunk_size: window, timezone }, [
            'start_unix',
            'end_unix',
            'id',
          ]) as [number, number, string][];
          expect(list[0]?.[0]).toBe(at);
          expect(list.at(-1)?.[1]).toBe(at + seconds);
          for (const [index, [start, end]] of list.entries()) {
            expect(end).toBeGreaterThan(start);
            if (index > 0) expect(start).toBe(list[index - 1]?.[1]);
          }
          expect(new Set(list.map(([, , id]) => id)).size).toBe(list.length);
        },
      ),
      { numRuns: 300 },
    );
  });
});

test('every kind has just the tokens that documents may name', () => {
  const specs = [
    { kind: 'integer', from: 0, to: 1, chunk_size: 1, bounds: 'inclusive' },
    { kind: 'timestamp', from: '2026-01-01', to: '2026-01-02', chunk_size: '1d' },
    { kind: 'offset', total: 1, chunk_size: 1 },
  ] as const;
  for (const spec of specs)
    expect(Object.keys(chunks(spec)[0]?.tokens ?? {})).toEqual(CHUNK_TOKENS[spec.kind]);
});
