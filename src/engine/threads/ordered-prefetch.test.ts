import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Page } from '../../kit/page.ts';
import type { WorkedPage } from '../stages/page-work.ts';
import { orderedPrefetch, type StagePool } from './ordered-prefetch.ts';

const worked = (page: Page): WorkedPage => ({
  page,
  filtered: 0,
  expanded: 0,
  transformed: page.count,
  dead: [],
});
const pageOf = (value: number, bytes = 1): Page => Page.ofRecords([value], { bytes });

/** Works on a page when it is told to. */
function slowPool(width: number) {
  const atWork = new Map<number, () => void>();
  const pool: StagePool = {
    width,
    work: (page) =>
      new Promise(
        (settle) => void atWork.set(page.records()[0] as number, () => settle(worked(page))),
      ),
    close: async () => {},
  };
  return { pool, atWork };
}

function given(pages: readonly Page[], failure?: Error): () => Promise<Page | undefined> {
  const left = [...pages];
  return async () => {
    const next = left.shift();
    if (next === undefined && failure !== undefined) throw failure;
    return next;
  };
}

/** Lets everything happen that waits for nothing else. */
const settled = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));

async function valuesOf(pages: AsyncIterable<{ readonly worked: WorkedPage }>): Promise<unknown[]> {
  const values: unknown[] = [];
  for await (const { worked: one } of pages) values.push(one.page.records()[0]);
  return values;
}

describe('pages that are worked on ahead', () => {
  it('come in the order in which they were read, in whatever order the pool finishes them', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 6 }),
        fc.nat({ max: 12 }),
        fc.infiniteStream(fc.nat()),
        async (width, count, choices) => {
          const { pool, atWork } = slowPool(width);
          const all = valuesOf(
            orderedPrefetch(
              given(Array.from({ length: count }, (_, index) => pageOf(index))),
              pool,
            ),
          );
          for (let done = 0; done < count; done += 1) {
            while (atWork.size === 0) await settled();
            expect(atWork.size).toBeLessThanOrEqual(width);
            const at = [...atWork.keys()][(choices.next().value ?? 0) % atWork.size] as number;
            atWork.get(at)?.();
            atWork.delete(at);
          }
          expect(await all).toEqual(Array.from({ length: count }, (_, index) => index));
        },
      ),
    );
  });

  it('are not read before the page at hand is through with, by who works alone', async () => {
    let read = 0;
    const next = async (): Promise<Page> => pageOf(read++);
    const pool: StagePool = { width: 1, work: async (page) => worked(page), close: async () => {} };
    const pages = orderedPrefetch(next, pool);
    await pages.next();
    await settled();
    expect(read).toBe(1);
    await pages.next();
    expect(read).toBe(2);
    await pages.return();
  });

  it('are given on while the source still looks for the next', async () => {
    const pool: StagePool = { width: 4, work: async (page) => worked(page), close: async () => {} };
    let read = 0;
    const next = (): Promise<Page> =>
      read++ === 0 ? Promise.resolve(pageOf(0)) : new Promise(() => {});
    expect((await orderedPrefetch(next, pool).next()).value?.page.records()).toEqual([0]);
  });

  it('are no more than fit into the memory, but always one', async () => {
    const { pool, atWork } = slowPool(8);
    const huge = 40 * 1024 * 1024;
    const all = valuesOf(
      orderedPrefetch(given([pageOf(0, huge), pageOf(1, huge), pageOf(2)]), pool),
    );
    await settled();
    expect([...atWork.keys()]).toEqual([0]);
    for (const value of [0, 1, 2]) {
      while (!atWork.has(value)) await settled();
      atWork.get(value)?.();
    }
    expect(await all).toEqual([0, 1, 2]);
  });

  it('are all given before the failure of the source', async () => {
    const { pool, atWork } = slowPool(3);
    const seen: unknown[] = [];
    const all = (async () => {
      for await (const { page } of orderedPrefetch(
        given([pageOf(0), pageOf(1)], new Error('the file ends here')),
        pool,
      ))
        seen.push(page.records()[0]);
    })();
    await settled();
    for (const value of [1, 0]) atWork.get(value)?.();
    await expect(all).rejects.toThrow('the file ends here');
    expect(seen).toEqual([0, 1]);
  });
});
