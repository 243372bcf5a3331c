/** The contract of a ledger of outputs, as a suite every implementation is held to. */
import { describe, expect, it } from 'vitest';
import type { OutputStore, StoredOutput } from '../../src/history/outputs.ts';

const at = (second: number): string => new Date(Date.UTC(2026, 7, 1, 0, 0, second)).toISOString();

export function anOutput(id: string, over: Partial<StoredOutput> = {}): StoredOutput {
  return {
    id,
    path: `/out/${id}.jsonl`,
    dataset_uri: `file:///out/${id}.jsonl`,
    dataset_id: `d-${id}`,
    kind: 'jsonl',
    pipeline: 'orders',
    row: 'row-0',
    run_id: 'r1',
    pre_existing: false,
    replaced: false,
    retention_days: null,
    first_written_at: at(10),
    last_written_at: at(10),
    deleted_at: null,
    deleted_bytes: null,
    ...over,
  };
}

export function describeOutputs(name: string, open: () => Promise<OutputStore>): void {
  describe(`the ledger of outputs in ${name}`, () => {
    const all = { include_deleted: true };

    it('lists the newest write first, and by any of its filters', async () => {
      const store = await open();
      expect(await store.listOutputs(all)).toEqual([]);
      const [a, b, c] = [
        anOutput('a', { last_written_at: at(11) }),
        anOutput('b', { pipeline: 'other', run_id: 'r2' }),
        anOutput('c', {
          dataset_id: 'd-a',
          retention_days: 3,
          deleted_at: at(20),
          deleted_bytes: 9,
        }),
      ];
      await store.putOutputs([a, b, c]);
      expect(await store.listOutputs(all)).toEqual([a, b, c]);
      expect(await store.listOutputs({ include_deleted: false })).toEqual([a, b]);
      expect(await store.listOutputs({ ...all, limit: 1 })).toEqual([a]);
      expect(await store.listOutputs({ ...all, dataset_id: 'd-a' })).toEqual([a, c]);
      expect(await store.listOutputs({ ...all, pipeline: 'other' })).toEqual([b]);
      expect(await store.listOutputs({ ...all, run_id: 'r2' })).toEqual([b]);
      expect(await store.listOutputs({ ...all, ids: ['b', 'x'] })).toEqual([b]);
      expect(await store.listOutputs({ ...all, ids: [] })).toEqual([]);
    });

    it('keeps of the first write when it was and what it met, and takes the rest from the last', async () => {
      const store = await open();
      await store.putOutputs([anOutput('a')]);
      await store.putOutputs([
        anOutput('a', {
          pre_existing: true,
          run_id: 'r2',
          row: 'eu',
          first_written_at: at(30),
          last_written_at: at(30),
        }),
      ]);
      expect(await store.listOutputs(all)).toEqual([
        anOutput('a', { run_id: 'r2', row: 'eu', last_written_at: at(30) }),
      ]);
    });

    it('remembers that what was there before is gone', async () => {
      const store = await open();
      await store.putOutputs([anOutput('a', { pre_existing: true, replaced: true })]);
      await store.putOutputs([anOutput('a', { last_written_at: at(30) })]);
      expect(await store.listOutputs(all)).toEqual([
        anOutput('a', { pre_existing: true, replaced: true, last_written_at: at(30) }),
      ]);
    });

    it.each([
      ['nothing is there', { pre_existing: false, replaced: false }],
      ['somebody else has put a file there', { pre_existing: true, replaced: false }],
      ['a file of somebody else is replaced', { pre_existing: true, replaced: true }],
    ])('takes a deleted file for a new one when it is written again: %s', async (_what, met) => {
      const store = await open();
      await store.putOutputs([
        anOutput('a', { replaced: true, deleted_at: at(15), deleted_bytes: 1 }),
      ]);
      await store.putOutputs([
        anOutput('a', { ...met, first_written_at: at(30), last_written_at: at(30) }),
      ]);
      expect(await store.listOutputs(all)).toEqual([
        anOutput('a', { ...met, last_written_at: at(30) }),
      ]);
    });

    it('marks a file as deleted unless it was written again meanwhile', async () => {
      const store = await open();
      await store.putOutputs([anOutput('a')]);
      expect(await store.markDeleted('a', at(9), { at: at(20), bytes: 7 })).toBe(false);
      expect(await store.markDeleted('x', at(10), { at: at(20), bytes: 7 })).toBe(false);
      expect(await store.markDeleted('a', at(10), { at: at(20), bytes: 7 })).toBe(true);
      expect(await store.listOutputs(all)).toEqual([
        anOutput('a', { deleted_at: at(20), deleted_bytes: 7 }),
      ]);
    });

    it('forgets files', async () => {
      const store = await open();
      await store.putOutputs([anOutput('a'), anOutput('b')]);
      await store.forgetOutputs(['a', 'x']);
      expect(await store.listOutputs(all)).toEqual([anOutput('b')]);
    });
  });
}
