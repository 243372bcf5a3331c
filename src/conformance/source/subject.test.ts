import { describe, expect, it } from 'vitest';
import { within } from './subject.ts';

/** As if the machine had given all its processors to others. */
const standStill = (ms: number): void =>
  void Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);

const inTurns = async (turns: number): Promise<string> => {
  for (let turn = 0; turn < turns; turn += 1)
    await new Promise((resolve) => void setImmediate(resolve));
  return 'done';
};

describe('what a clause waits for', () => {
  it('is given the time in which the process stood still', async () => {
    const work = within(200, inTurns(5), 'it ends');
    standStill(400);
    expect(await work).toBe('done');
  });

  it('fails when it does not come', async () => {
    await expect(within(60, new Promise(() => {}), 'it ends')).rejects.toThrow(
      'not within 60 ms: it ends',
    );
  });
});
