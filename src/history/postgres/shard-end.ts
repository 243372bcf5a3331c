/** What becomes of a run whose shards have all ended. */
import type { InvocationRecord } from '../../wire/run.ts';
import type { StoredRun } from '../history.ts';

export interface EndOfRun {
  readonly status: 'completed' | 'failed' | 'cancelled';
  readonly records_written: number;
  readonly invocations: readonly InvocationRecord[];
  readonly error: string | null;
}

export function endOfRun(parent: StoredRun, shards: readonly StoredRun[]): EndOfRun {
  const inOrder = [...shards].sort((a, b) => (a.shard?.index ?? 0) - (b.shard?.index ?? 0));
  const failed = inOrder.filter(({ status }) => status === 'failed');
  const [first] = failed;
  const isCancelled =
    parent.cancel_requested || inOrder.some(({ status }) => status === 'cancelled');
  return {
    status:
      first !== undefined ? 'failed' : isCancelled ? cancelledUnlessDone(inOrder) : 'completed',
    records_written: inOrder.reduce((sum, { records_written }) => sum + records_written, 0),
    invocations: inOrder.flatMap(invocationsOf),
    error:
      first === undefined
        ? null
        : `${failed.length}/${inOrder.length} shard(s) failed: ${first.shard?.id ?? ''}: ${first.error ?? ''}`,
  };
}

/** The wish came too late where every shard had done its work. */
function cancelledUnlessDone(shards: readonly StoredRun[]): 'completed' | 'cancelled' {
  return shards.length > 0 && shards.every(({ status }) => status === 'completed')
    ? 'completed'
    : 'cancelled';
}

/** One that did not begin, or whose server was lost, has none of its own. */
function invocationsOf(run: StoredRun): readonly InvocationRecord[] {
  if (run.invocations.length > 0) return run.invocations;
  const { run_id, shard, status, error, records_written } = run;
  const none = { read: 0, filtered: 0, expanded: 0, transformed: 0, dead_lettered: 0, withheld: 0 };
  return [
    {
      run_id,
      row_id: `${shard?.row ?? ''}::shard::${shard?.id ?? ''}`,
      parent_record_key: null,
      records_written,
      error,
      status: status === 'completed' || status === 'cancelled' ? status : 'failed',
      duration_ms: 0,
      balance: { ...none, written: records_written },
    },
  ];
}
