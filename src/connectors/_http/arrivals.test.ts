import { describe, expect, it } from 'vitest';
import { RECORDS_LANE } from '../../kit/page.ts';
import { systemClock } from '../../lib/time/clock.ts';
import { Arrivals, pagesOf } from './arrivals.ts';

const broken = new Error('the connection was lost');

async function recordsOf(arrivals: Arrivals, signal: AbortSignal): Promise<unknown[]> {
  const found: unknown[] = [];
  try {
    const options = { lane: RECORDS_LANE, batchSize: 10, pageBytes: 1000, clock: systemClock };
    for await (const page of pagesOf(arrivals, { ...options, signal }))
      found.push(...page.records());
  } catch (error) {
    found.push(error);
  }
  return found;
}

function withTwo(): Arrivals {
  const arrivals = new Arrivals(1000, () => {});
  for (const id of [1, 2]) arrivals.push({ value: { id }, size: 8 });
  return arrivals;
}

describe('pages of messages that come by themselves', () => {
  it('give what came before a failure, and then the failure', async () => {
    const arrivals = withTwo();
    arrivals.end({ error: broken });
    const found = await recordsOf(arrivals, new AbortController().signal);
    expect(found).toEqual([{ id: 1 }, { id: 2 }, broken]);
  });

  it('give nothing more when they are stopped', async () => {
    const stop = new AbortController();
    const reading = recordsOf(withTwo(), stop.signal);
    setTimeout(() => stop.abort(broken), 20);
    expect(await reading).toEqual([broken]);
  });
});
