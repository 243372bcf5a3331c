import { describe, expect, test } from 'vitest';
import { parseCron, type Cron } from './cron.ts';

function cron(text: string, zone = 'UTC'): Cron {
  const parsed = parseCron(text, zone);
  if ('fault' in parsed) throw new Error(parsed.fault);
  return parsed;
}

function ticks(text: string, zone: string, after: string, count: number): string[] {
  const parsed = cron(text, zone);
  const found: string[] = [];
  for (
    let at = parsed.next(new Date(after));
    at !== undefined && found.length < count;
    at = parsed.next(at)
  )
    found.push(at.toISOString());
  return found;
}

const faultOf = (text: string): string => {
  const parsed = parseCron(text, 'UTC');
  return 'fault' in parsed
    ? `${parsed.fault}${parsed.hint === undefined ? '' : ` — ${parsed.hint}`}`
    : 'none';
};

describe('a cron expression', () => {
  test('has five fields, or six with seconds in front', () => {
    expect(ticks('30 6 * * *', 'UTC', '2026-01-01T00:00:00Z', 2)).toEqual([
      '2026-01-01T06:30:00.000Z',
      '2026-01-02T06:30:00.000Z',
    ]);
    expect(ticks('*/20 * * * * *', 'UTC', '2026-01-01T00:00:00Z', 3)).toEqual([
      '2026-01-01T00:00:20.000Z',
      '2026-01-01T00:00:40.000Z',
      '2026-01-01T00:01:00.000Z',
    ]);
  });

  test('may have lists, ranges, steps and names', () => {
    expect(ticks('0 8-10/2 * * MON,wed', 'UTC', '2026-01-01T00:00:00Z', 3)).toEqual([
      '2026-01-05T08:00:00.000Z',
      '2026-01-05T10:00:00.000Z',
      '2026-01-07T08:00:00.000Z',
    ]);
    expect(ticks('0 0 1 JAN-FEB *', 'UTC', '2026-01-01T00:00:00Z', 2)).toEqual([
      '2026-02-01T00:00:00.000Z',
      '2027-01-01T00:00:00.000Z',
    ]);
    expect(ticks('0 0 * * 7', 'UTC', '2026-01-01T00:00:00Z', 1)).toEqual(
      ticks('0 0 * * SUN', 'UTC', '2026-01-01T00:00:00Z', 1),
    );
  });

  test('with a day of the month and one of the week means either of them', () => {
    expect(ticks('0 0 3 * FRI', 'UTC', '2026-01-01T00:00:00Z', 3)).toEqual([
      '2026-01-02T00:00:00.000Z',
      '2026-01-03T00:00:00.000Z',
      '2026-01-09T00:00:00.000Z',
    ]);
  });

  test('that never comes true has no tick', () => {
    expect(cron('0 0 30 2 *').next(new Date('2026-01-01T00:00:00Z'))).toBeUndefined();
    expect(cron('0 0 29 2 *').next(new Date('2026-03-01T00:00:00Z'))?.toISOString()).toBe(
      '2028-02-29T00:00:00.000Z',
    );
  });

  test('that cannot be read is refused with what is wrong', () => {
    expect(faultOf('@daily')).toBe(
      '`@daily` is a macro, and only fields are read here — write `0 0 * * *`',
    );
    expect(faultOf('@often')).toBe('`@often` is a macro, and only fields are read here');
    expect(faultOf('* * * * * * *')).toContain('has 7 fields instead of 5 or 6');
    expect(faultOf('  ')).toContain('has 0 fields');
    expect(faultOf('60 * * * *')).toBe('minute must be 0 to 59, not `60`');
    expect(faultOf('0 0 * FOO *')).toBe('month must be 1 to 12, not `FOO`');
    expect(faultOf('0 0 * * 5-1')).toBe('`5-1` ends before it begins');
    expect(faultOf('*/0 * * * *')).toBe('the step of a minute must be 1 to 59, not `*/0`');
    expect(faultOf('5/15 * * * *')).toBe('`5/15` steps through a single value; write `5-59/15`');
    expect(faultOf('1,,2 * * * *')).toContain('`1,,2` cannot be read as minute');
    expect(faultOf('0 0 L * *')).toBe('day of month must be 1 to 31, not `L`');
  });
});

describe('where clocks are changed', () => {
  test('a time that is skipped is the next moment that exists', () => {
    expect(ticks('30 2 * * *', 'Europe/Berlin', '2026-03-28T02:00:00Z', 2)).toEqual([
      '2026-03-29T01:00:00.000Z',
      '2026-03-30T00:30:00.000Z',
    ]);
    // Midnight itself is skipped.
    expect(ticks('0 0 * * *', 'America/Sao_Paulo', '2018-11-03T12:00:00Z', 2)).toEqual([
      '2018-11-04T03:00:00.000Z',
      '2018-11-05T02:00:00.000Z',
    ]);
    expect(ticks('15 0 * * *', 'America/Havana', '2026-03-07T12:00:00Z', 1)).toEqual([
      '2026-03-08T05:00:00.000Z',
    ]);
  });

  test('a time that comes twice counts once', () => {
    expect(ticks('30 2 * * *', 'Europe/Berlin', '2026-10-24T12:00:00Z', 2)).toEqual([
      '2026-10-25T00:30:00.000Z',
      '2026-10-26T01:30:00.000Z',
    ]);
    expect(ticks('30 23 * * *', 'America/Sao_Paulo', '2019-02-16T12:00:00Z', 2)).toEqual([
      '2019-02-17T01:30:00.000Z',
      '2019-02-18T02:30:00.000Z',
    ]);
  });

  test('each of several times of day counts once, and on every day', () => {
    expect(ticks('0 2,14 * * *', 'Europe/Berlin', '2026-03-28T20:00:00Z', 3)).toEqual([
      '2026-03-29T01:00:00.000Z',
      '2026-03-29T12:00:00.000Z',
      '2026-03-30T00:00:00.000Z',
    ]);
    expect(ticks('0 1,13 * * *', 'America/New_York', '2026-11-01T03:00:00Z', 2)).toEqual([
      '2026-11-01T05:00:00.000Z',
      '2026-11-01T18:00:00.000Z',
    ]);
    expect(ticks('0,30 1-2 * * *', 'America/New_York', '2026-11-01T03:00:00Z', 5)).toEqual([
      '2026-11-01T05:00:00.000Z',
      '2026-11-01T05:30:00.000Z',
      '2026-11-01T07:00:00.000Z',
      '2026-11-01T07:30:00.000Z',
      '2026-11-02T06:00:00.000Z',
    ]);
  });

  test('what comes every few minutes goes on doing so', () => {
    const all = ticks('*/30 * * * *', 'Europe/Berlin', '2026-10-24T23:40:00Z', 6).map((at) =>
      Date.parse(at),
    );
    expect(all.slice(1).map((at, index) => at - (all[index] ?? 0))).toEqual(
      Array.from({ length: 5 }, () => 30 * 60_000),
    );
  });
});
