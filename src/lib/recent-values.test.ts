import { describe, expect, it } from 'vitest';
import { stillClock } from '../../test/fakes/clock.ts';
import { RecentValues } from './recent-values.ts';

const LIMITS = { entries: 3, size: 10, idleMs: 1000 };

describe('recent values', () => {
  it('make room for new ones, those first that nobody asked for the longest', () => {
    const recent = new RecentValues<number>(LIMITS, stillClock());
    for (const [index, key] of ['a', 'b', 'c'].entries()) recent.keep(key, index, 1);
    expect(recent.find('a')).toBe(0);
    recent.keep('d', 3, 1);
    expect(['a', 'b', 'c', 'd'].map((key) => recent.find(key))).toEqual([0, undefined, 2, 3]);
  });

  it('take no more room than they may, and give back what they took', () => {
    const recent = new RecentValues<string>(LIMITS, stillClock());
    recent.keep('a', 'A', 6);
    recent.keep('a', 'B', 6);
    recent.keep('b', 'C', 4);
    expect([recent.find('a'), recent.find('b')]).toEqual(['B', 'C']);
    recent.forget('a');
    recent.keep('c', 'D', 6);
    expect([recent.find('b'), recent.find('c'), recent.count]).toEqual(['C', 'D', 2]);
    recent.keep('e', 'too large', 11);
    expect([recent.find('e'), recent.count]).toEqual([undefined, 2]);
  });

  it('go when nobody asks for them', async () => {
    const clock = stillClock();
    const recent = new RecentValues<string>(LIMITS, clock);
    recent.keep('a', 'A', 1);
    recent.keep('b', 'B', 1);
    await clock.sleep(600);
    expect(recent.find('b')).toBe('B');
    await clock.sleep(600);
    expect([recent.find('b'), recent.count, recent.find('a')]).toEqual(['B', 1, undefined]);
  });
});
