import { describe, expect, it } from 'vitest';
import { dateText, timestampText, timeText } from './iso-text.ts';

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
  });
});
