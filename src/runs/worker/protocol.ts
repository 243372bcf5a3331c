/**
 * What the server and its worker processes say to each other, over the channel of
 * `child_process.fork` (structured clone).
 */
import type { LogLine } from '../../lib/log.ts';
import type { Movement } from '../../wire/catalog.ts';
import type { OutputNews, Progress, RunOutcome } from '../../wire/outcome.ts';
import type { RunTicket } from './executor.ts';
import type { Measurements } from '../../lib/metrics/metric-relay.ts';
import type { StopCause } from '../service/record.ts';

export type ToWorker =
  | { readonly type: 'run'; readonly ticket: RunTicket }
  | { readonly type: 'stop'; readonly why: StopCause }
  /** A batch whose acknowledgement was awaited was taken; the worker may send the next. */
  | { readonly type: 'ack' }
  /** No more runs: end. */
  | { readonly type: 'exit' };

/**
 * News of a run. A worker has at most one batch on the way besides the first, so a slow server is
 * never flooded.
 */
export interface Batch {
  readonly lines: readonly LogLine[];
  readonly measured: Measurements;
  readonly progress: Progress | undefined;
}

export type FromWorker =
  | { readonly type: 'ready' }
  | { readonly type: 'batch'; readonly batch: Batch; readonly isAwaited: boolean }
  /** Files of this machine that the run writes from now on. */
  | { readonly type: 'opened'; readonly news: OutputNews }
  /** `rest`: the last news of the run; `moved`: what it tells the catalog. */
  | {
      readonly type: 'finished';
      readonly outcome: RunOutcome;
      readonly rest: Batch;
      readonly moved: readonly Movement[];
    }
  /** The worker cannot go on and ends itself; the sentence is redacted. */
  | { readonly type: 'broken'; readonly reason: string };
