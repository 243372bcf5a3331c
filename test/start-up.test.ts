/** What keeps a start short. Counted, not timed. */
import { expect, test, vi } from 'vitest';
import { z } from 'zod';

test('loading the parts and the blocks builds no schema: a run builds those its document needs', async () => {
  const describe = vi.spyOn(z.globalRegistry, 'add');
  await import('../src/parts.ts');
  await import('../src/document/blocks/index.ts');
  const fields = describe.mock.calls.map(([, meta]) => meta?.description);
  expect(fields, 'put these schemas behind `z.lazy(() => …)`').toEqual([]);
}, 120_000);
