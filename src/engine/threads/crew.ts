/** Who works on the pages of a row: the thread that moves them, and others where that pays. */
import type { Page } from '../../kit/page.ts';
import { messageOf } from '../../lib/errors.ts';
import type { Log } from '../../lib/log.ts';
import type { PageWork, WorkedPage } from '../stages/page-work.ts';
import type { ThreadBudget } from './budget.ts';
import type { ThreadSetup } from './messages.ts';
import type { StageThreads, StageThreadsOptions } from './stage-threads.ts';
import type { Crew } from './work-ahead.ts';

/** A row that is through before it has read so much is through before threads have started. */
const LONG_ROW_BYTES = 8 * 1024 * 1024;

/** One page at a time, on the spot. */
export function crewOfOne(work: PageWork): Crew {
  return { width: 1, work, close: async () => {} };
}

export interface GrowingCrewOptions extends Pick<StageThreadsOptions, 'metrics'> {
  /** Asked for when threads are started. */
  readonly setup: () => ThreadSetup;
  /** Does what no thread does. */
  readonly work: PageWork;
  readonly budget: ThreadBudget;
  readonly row: string;
  readonly log: Log;
}

/**
 * One page at a time, until the row turns out to be a long one: then threads are started, and take
 * over when they are ready.
 */
export class GrowingCrew implements Crew {
  readonly #options: GrowingCrewOptions;
  #bytes = 0;
  #growing: Promise<void> | undefined;
  #taken = 0;
  #threads: StageThreads | undefined;

  constructor(options: GrowingCrewOptions) {
    this.#options = options;
  }

  get width(): number {
    return Math.max(1, this.#threads?.width ?? 0);
  }

  work(page: Page): Promise<WorkedPage> {
    this.#bytes += page.bytes;
    if (this.#bytes > LONG_ROW_BYTES) this.#growing ??= this.#grow();
    const threads = this.#threads;
    return threads !== undefined && threads.width > 0 && page.columns !== undefined
      ? threads.work(page)
      : this.#options.work(page);
  }

  async close(): Promise<void> {
    await this.#growing;
    await this.#threads?.close();
    this.#options.budget.giveBack(this.#taken);
    this.#taken = 0;
  }

  /** Never rejects. */
  async #grow(): Promise<void> {
    const { budget, metrics } = this.#options;
    this.#taken = budget.take();
    if (this.#taken === 0) return;
    try {
      const setup = this.#options.setup();
      const { StageThreads } = await import('./stage-threads.ts');
      const threads = new StageThreads({ setup, metrics, count: this.#taken });
      this.#threads = threads;
      void threads.started().then(() => this.#tell(threads.fault));
    } catch (error) {
      this.#tell(messageOf(error));
    }
  }

  #tell(fault: string | undefined): void {
    const { log, row } = this.#options;
    if (fault !== undefined)
      log.warn('threads could not be started; the row goes on without', { row, reason: fault });
  }
}
