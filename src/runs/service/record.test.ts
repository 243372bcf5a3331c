import { expect, test } from 'vitest';
import type { InvocationOutcome, RunOutcome } from '../../wire/outcome.ts';
import { doneSoFar, endingOf } from './record.ts';

const AT = '2026-08-01T00:00:00.000Z';

function invocation(
  row: string,
  written: number,
  more: Partial<InvocationOutcome> = {},
): InvocationOutcome {
  const none = { filtered: 0, expanded: 0, dead_lettered: 0, withheld: 0 };
  return {
    invocation_id: `${row}-${written}`,
    row_id: row,
    parent_record_key: null,
    source: 'csv',
    sink: 'jsonl',
    status: 'completed',
    balance: { read: written, transformed: written, written, ...none },
    bytes_read: 0,
    pages: 1,
    lane: 'records',
    error: null,
    started_at: AT,
    finished_at: AT,
    duration_ms: 1,
    ...more,
  };
}

function ended(
  status: RunOutcome['status'],
  invocations: readonly InvocationOutcome[],
): { readonly type: 'finished'; readonly outcome: RunOutcome } {
  const records_written = invocations.reduce((sum, { balance }) => sum + balance.written, 0);
  const times = { started_at: AT, finished_at: AT };
  const outcome = { pipeline: 'p', status, ...times, records_written, invocations, error: null };
  return { type: 'finished', outcome };
}

const NOTHING = { records_written: 0, invocations: [] };

test('a run that servers gave to each other says what all of them wrote', () => {
  const first = ended('cancelled', [
    invocation('a', 5, { bookmark: 5 }),
    invocation('b', 3, { bookmark: 3, status: 'cancelled' }),
    // Begun anew by the next server.
    invocation('without-state', 9, { status: 'cancelled' }),
    invocation('failed', 2, { status: 'failed', bookmark: 1 }),
  ]);
  const earlier = doneSoFar(first, { earlier: NOTHING });
  expect(earlier).toMatchObject({ records_written: 8 });
  const again = doneSoFar(ended('cancelled', [invocation('b', 1, { bookmark: 4 })]), { earlier });
  expect(again).toMatchObject({ records_written: 9 });
  // One whose worker was killed tells nothing.
  expect(doneSoFar({ type: 'crashed', reason: 'killed' }, { earlier: again })).toEqual(again);
  const last = ended('completed', [invocation('b', 2), invocation('without-state', 10)]);
  const context = { stopped: undefined, timeoutSecs: null, progress: undefined, finishedAt: AT };
  const { ending } = endingOf(last, { ...context, earlier: again });
  expect(ending.records_written).toBe(21);
  expect(ending.invocations.map(({ run_id }) => run_id)).toEqual([
    'a-5',
    'b-3',
    'b-1',
    'b-2',
    'without-state-10',
  ]);
});
