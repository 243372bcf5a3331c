/** Life of a worker process: one run at a time, until it is told to end or its server is gone. */
import { systemClock } from '../../lib/time/clock.ts';
import { AppError, messageOf, StopReason } from '../../lib/errors.ts';
import type { LogLine } from '../../lib/log.ts';
import type { Metrics } from '../../lib/metrics/metrics.ts';
import { Redactor } from '../../lib/redact.ts';
import type { Movement } from '../../wire/catalog.ts';
import type { OutputNews, Progress, RunOutcome } from '../../wire/outcome.ts';
import { BatchSender } from './batch-sender.ts';
import type { RunTicket } from './executor.ts';
import { createMetricRelay, type MetricRelay } from '../../lib/metrics/metric-relay.ts';
import type { FromWorker, ToWorker } from './protocol.ts';
import type { StopCause } from '../service/record.ts';
import { watchParent } from './watchdog.ts';

/** What a run may do towards the server. */
export interface RunDesk {
  readonly signal: AbortSignal;
  readonly redactor: Redactor;
  readonly metrics: Metrics;
  readonly writeLog: (line: LogLine) => void;
  readonly onProgress: (progress: Progress) => void;
  /** Goes with the end of the run. */
  readonly onMoved: (movements: readonly Movement[]) => void;
  /** Goes at once: the process may die while it writes. */
  readonly onOpened: (news: OutputNews) => void;
}

export type ExecuteTicket = (ticket: RunTicket, desk: RunDesk) => Promise<RunOutcome>;

const STOP_SENTENCES: Readonly<Record<StopCause, string>> = {
  cancel: 'the run was cancelled',
  timeout: 'the run took longer than its timeout_secs',
  shutdown: 'the server is shutting down',
};

/** Call once, in a process made by `child_process.fork`. */
export function runWorkerLoop(execute: ExecuteTicket): void {
  watchParent(process.ppid);
  // The server decides about stopping; a signal to the whole process group must not end a run
  // halfway.
  process.on('SIGINT', () => {});
  process.on('SIGTERM', () => {});
  process.on('disconnect', dieNow);
  const worker = new WorkerProcess(execute);
  process.on('message', (message) => worker.hear(message as ToWorker));
  process.on('uncaughtException', (error) => worker.breakDown(error));
  say({ type: 'ready' });
}

/**
 * An orderly exit waits for system calls under way; one that never returns (reading a silent pipe)
 * would keep this process for ever.
 */
function dieNow(): void {
  process.kill(process.pid, 'SIGKILL');
}

interface Current {
  readonly stop: AbortController;
  readonly sender: BatchSender;
  readonly redactor: Redactor;
}

class WorkerProcess {
  readonly #execute: ExecuteTicket;
  readonly #relay: MetricRelay = createMetricRelay();
  #current: Current | undefined;

  constructor(execute: ExecuteTicket) {
    this.#execute = execute;
  }

  hear(message: ToWorker): void {
    switch (message.type) {
      case 'run':
        void this.#run(message.ticket);
        return;
      case 'stop':
        this.#current?.stop.abort(new StopReason(message.why, STOP_SENTENCES[message.why]));
        return;
      case 'ack':
        this.#current?.sender.acknowledged();
        return;
      case 'exit':
        process.exit(0);
        return;
      default:
        message satisfies never;
    }
  }

  /** Nothing that happens after an uncaught error can be trusted. */
  breakDown(error: unknown): void {
    const text = messageOf(error);
    if (this.#current !== undefined)
      say({ type: 'batch', batch: this.#current.sender.end(), isAwaited: false });
    const reason = this.#current === undefined ? text : this.#current.redactor.text(text);
    process.send?.({ type: 'broken', reason } satisfies FromWorker, dieNow);
  }

  async #run(ticket: RunTicket): Promise<void> {
    const redactor = new Redactor();
    for (const secret of ticket.secrets) redactor.register(secret);
    const sender = new BatchSender({
      clock: systemClock,
      relay: this.#relay,
      send: (batch, isAwaited) => say({ type: 'batch', batch, isAwaited }),
    });
    const moved: Movement[] = [];
    const stop = new AbortController();
    this.#current = { stop, sender, redactor };
    try {
      const outcome = await this.#execute(ticket, {
        signal: stop.signal,
        redactor,
        metrics: announcing(this.#relay.metrics, sender),
        writeLog: (line) => sender.log(line),
        onProgress: (progress) => sender.progress(progress),
        onMoved: (movements) => void moved.push(...movements),
        onOpened: (news) => say({ type: 'opened', news }),
      });
      this.#current = undefined;
      say({ type: 'finished', outcome, rest: sender.end(), moved });
    } catch (error) {
      if (!(error instanceof AppError)) return this.breakDown(error);
      this.#current = undefined;
      say({
        type: 'finished',
        outcome: refusedOutcome(ticket, redactor.text(error.message), error.code),
        rest: sender.end(),
        moved,
      });
    }
  }
}

/** The document cannot be executed here, though it could be planned where it was submitted. */
function refusedOutcome(ticket: RunTicket, message: string, code: string): RunOutcome {
  const now = systemClock.now().toISOString();
  const error = { code, kind: 'Config' as const, message };
  return {
    pipeline: ticket.name,
    status: 'failed',
    started_at: now,
    finished_at: now,
    records_written: 0,
    invocations: [],
    error,
  };
}

function announcing(metrics: Metrics, sender: BatchSender): Metrics {
  return {
    inc: (metric, labels, value) => {
      metrics.inc(metric, labels, value);
      sender.measured();
    },
    set: (metric, labels, value) => {
      metrics.set(metric, labels, value);
      sender.measured();
    },
    observe: (metric, labels, value) => {
      metrics.observe(metric, labels, value);
      sender.measured();
    },
  };
}

/** A channel that is gone ends this process through `disconnect`; there is nobody to tell. */
function say(message: FromWorker): void {
  process.send?.(message, () => {});
}
