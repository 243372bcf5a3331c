import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Presence } from './presence.ts';

const GONE = new Error('nobody answers');
const BRIEFLY = 250;

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

describe('a database', () => {
  it('is waited for as long as ever until it has been away for that long', () => {
    const presence = new Presence(1000);
    presence.noteAway(GONE);
    vi.advanceTimersByTime(999);
    expect(presence.waitMs).toBe(1000);
    vi.advanceTimersByTime(1);
    expect(presence.waitMs).toBe(BRIEFLY);
    presence.noteAnswer();
    expect([presence.waitMs, presence.isAway]).toEqual([1000, false]);
  });

  it('is waited for briefly once somebody has waited in vain, however late that became known', () => {
    const presence = new Presence(1000);
    vi.advanceTimersByTime(1000);
    presence.noteAway(GONE, 1000);
    expect(presence.waitMs).toBe(BRIEFLY);
  });

  it('is away no longer than since its last answer', () => {
    const presence = new Presence(1000);
    vi.advanceTimersByTime(600);
    presence.noteAnswer();
    vi.advanceTimersByTime(400);
    presence.noteAway(GONE, 1000);
    expect(presence.waitMs).toBe(1000);
    vi.advanceTimersByTime(600);
    expect(presence.waitMs).toBe(BRIEFLY);
  });
});
