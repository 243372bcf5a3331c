import type { Clock } from '../../lib/time/clock.ts';
import type { LogLine } from '../../lib/log.ts';
import type { MetricRelay } from '../../lib/metrics/metric-relay.ts';
import type { RunEvent } from '../../wire/run-event.ts';
import type { Batch } from './protocol.ts';

const INTERVAL_MS = 50;
const BATCH_LINES = 1000;
/** What waits here while the server does not take anything; later lines are counted, not kept. */
const MAX_LINES = 20_000;

export interface EventSenderOptions {
  readonly clock: Clock;
  readonly relay: MetricRelay;
  /** Nothing more is sent before an awaited batch is acknowledged, but at the end. */
  readonly send: (batch: Batch, isAwaited: boolean) => void;
}

/**
 * Gathers log lines, measurements and progress and sends them every 50 ms at most, one batch at a
 * time; the rest goes with the end, as does what was moved. Every other event goes at once: the
 * process may die.
 */
export class EventSender {
  readonly #options: EventSenderOptions;
  #lines: LogLine[] = [];
  #lost = 0;
  /** The last progress. */
  #progress: RunEvent | undefined;
  /** Counts only when the job has ended well: no message of its own. */
  readonly #atEnd: RunEvent[] = [];
  #pending = false;
  #underway = false;
  #begun = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: EventSenderOptions) {
    this.#options = options;
  }

  log(line: LogLine): void {
    if (this.#lines.length < MAX_LINES) this.#lines.push(line);
    else this.#lost += 1;
    // The first line goes at once: a run that never gives way afterwards shall not be silent.
    if (this.#begun) this.#arm();
    else this.#send(false);
  }

  event(event: RunEvent): void {
    if (event.kind === 'moved') this.#atEnd.push(event);
    else if (event.kind !== 'progress') this.#options.send([event], false);
    else {
      this.#progress = event;
      this.#arm();
    }
  }

  /** Something was measured. */
  measured(): void {
    this.#arm();
  }

  /** The server has taken the last batch. */
  acknowledged(): void {
    this.#underway = false;
    if (this.#pending) this.#arm();
  }

  /**
   * Everything that is left, whether the server was ready or not: the last batch, after those that
   * had to go before it were sent.
   */
  end(): Batch {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    while (this.#lines.length > BATCH_LINES) this.#send(false);
    return [...this.#take(), ...this.#atEnd];
  }

  #arm(): void {
    this.#pending = true;
    if (this.#timer !== undefined || this.#underway) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      if (!this.#underway) this.#send(true);
    }, INTERVAL_MS);
  }

  #send(isAwaited: boolean): void {
    this.#underway = isAwaited;
    this.#pending = false;
    this.#begun = true;
    this.#options.send(this.#take(), isAwaited);
  }

  #take(): Batch {
    const lines = this.#lines.splice(0, BATCH_LINES);
    if (this.#lost > 0 && this.#lines.length === 0) lines.push(this.#lossLine());
    const batch: RunEvent[] = lines.length === 0 ? [] : [{ kind: 'log', lines }];
    const { changes, definitions } = this.#options.relay.take();
    if (changes.length > 0 || definitions.length > 0)
      batch.push({ kind: 'metrics', changes, definitions });
    if (this.#progress !== undefined) batch.push(this.#progress);
    this.#progress = undefined;
    return batch;
  }

  #lossLine(): LogLine {
    const line = `WARN headgate::worker: log lines were lost because the server was busy lines=${this.#lost}`;
    this.#lost = 0;
    return { ts: this.#options.clock.now().toISOString(), level: 'WARN', line };
  }
}
