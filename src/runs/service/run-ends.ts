/** The ends of runs, for whoever in the server waits for one. */
import { RefusedError } from '../../lib/errors.ts';
import type { Clock } from '../../lib/time/clock.ts';
import type { RunOutcome } from '../../wire/outcome.ts';
import type { RunEnding } from '../../wire/run-event.ts';
import { isTerminal } from '../../wire/run-status.ts';
import type { RunRecord } from '../../wire/run.ts';
import type { RunListener } from './run-listener.ts';
import type { Runs } from './runs.ts';

/** A run may end without its server: then only its record says so. */
const LOOK_MS = 30_000;

export interface RunEnd extends Pick<RunEnding, 'status' | 'finished_at' | 'error' | 'outcome'> {}

export class RunEnds implements RunListener {
  readonly name = 'run ends';
  readonly #waiting = new Map<string, (ending: RunEnding) => void>();

  follow({ run_id }: { readonly run_id: string }): ReturnType<RunListener['follow']> {
    return (event) => {
      if (event.kind === 'ended') this.#waiting.get(run_id)?.(event.end);
    };
  }

  /** Rejects when the run is gone, and with the reason of the signal when that fires. */
  async of(
    runId: string,
    { runs, clock }: { readonly runs: Pick<Runs, 'get'>; readonly clock: Clock },
    signal: AbortSignal,
  ): Promise<RunEnd> {
    const heard = Promise.withResolvers<RunEnding>();
    this.#waiting.set(runId, heard.resolve);
    try {
      for (;;) {
        signal.throwIfAborted();
        const record = await runs.get(runId).catch(undefinedWhileAway);
        if (record !== undefined && isTerminal(record.status)) return endOf(record);
        const over = new AbortController();
        const slept = clock.sleep(LOOK_MS, AbortSignal.any([over.signal, signal]));
        const ending = await Promise.race([heard.promise, slept]);
        over.abort();
        if (ending !== undefined) return ending;
      }
    } finally {
      this.#waiting.delete(runId);
    }
  }
}

/** A history that does not answer says nothing about the run. */
function undefinedWhileAway(error: unknown): undefined {
  if (!(error instanceof RefusedError) || error.code !== 'unavailable') throw error;
}

function endOf({ status, finished_at, submitted_at, error }: RunRecord): RunEnd {
  return {
    status: status as RunEnd['status'],
    finished_at: finished_at ?? submitted_at,
    error,
    outcome: null,
  };
}

/** What is known of a run whose worker told no outcome, as one. */
export function outcomeOfEnd(end: RunEnd, pipeline: string): RunOutcome {
  const { status, finished_at, error, outcome } = end;
  if (outcome?.status === status) return outcome;
  return {
    pipeline,
    status,
    started_at: finished_at,
    finished_at,
    records_written: outcome?.records_written ?? 0,
    invocations: outcome?.invocations ?? [],
    error: error === null ? null : { code: 'run_failed', kind: 'Custom', message: error },
  };
}
