import type { Clock } from '../lib/clock.ts';
import type { LogLine } from '../lib/log.ts';
import type { Progress } from '../wire/outcome.ts';
import type { MetricRelay } from './metric-relay.ts';
import type { Batch } from './protocol.ts';

const INTERVAL_MS = 50;
const BATCH_LINES = 1000;
/** What waits here while the server does not take anything; later lines are counted, not kept. */
const MAX_LINES = 20_000;

export interface BatchSenderOptions {
  readonly clock: Clock;
  readonly relay: MetricRelay;
  readonly send: (batch: Batch) => void;
}

/** Gathers the news of a run and sends them every 50 ms at most, one batch at a time, and the rest at the end. */
export class BatchSender {
  readonly #options: BatchSenderOptions;
  #lines: LogLine[] = [];
  #lost = 0;
  #progress: Progress | undefined;
  #news = false;
  #underway = false;
  #begun = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: BatchSenderOptions) {
    this.#options = options;
  }

  log(line: LogLine): void {
    if (this.#lines.length < MAX_LINES) this.#lines.push(line);
    else this.#lost += 1;
    // The first line goes at once: a run that never gives way afterwards shall not be silent.
    if (this.#begun) this.#arm();
    else this.#send();
  }

  progress(progress: Progress): void {
    this.#progress = progress;
    this.#arm();
  }

  /** Something was measured. */
  measured(): void {
    this.#arm();
  }

  /** The server has taken the last batch. */
  acknowledged(): void {
    this.#underway = false;
    if (this.#news) this.#arm();
  }

  /** Everything that is left, whether the server was ready or not. */
  end(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    do this.#send();
    while (this.#lines.length > 0);
    this.#underway = false;
  }

  #arm(): void {
    this.#news = true;
    if (this.#timer !== undefined || this.#underway) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      if (!this.#underway) this.#send();
    }, INTERVAL_MS);
  }

  #send(): void {
    const lines = this.#lines.splice(0, BATCH_LINES);
    if (this.#lost > 0 && this.#lines.length === 0) lines.push(this.#lossLine());
    const progress = this.#progress;
    this.#progress = undefined;
    this.#underway = true;
    this.#news = false;
    this.#begun = true;
    this.#options.send({ lines, progress, measured: this.#options.relay.take() });
  }

  #lossLine(): LogLine {
    const line = `WARN headgate::worker: log lines were lost because the server was busy lines=${this.#lost}`;
    this.#lost = 0;
    return { ts: this.#options.clock.now().toISOString(), level: 'WARN', line };
  }
}
