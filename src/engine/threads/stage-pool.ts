/** Pools that run the stages of a row: in the calling thread, or also in worker threads. */
import type { Page } from '../../kit/page.ts';
import { messageOf } from '../../lib/errors.ts';
import type { Log } from '../../lib/log.ts';
import type { PageWork, WorkedPage } from '../stages/page-work.ts';
import type { ThreadBudget } from './budget.ts';
import type { ThreadSetup } from './messages.ts';
import type { StageThreads, StageThreadsOptions } from './stage-threads.ts';
import type { StagePool } from './ordered-prefetch.ts';

/** One page at a time, in the calling thread. */
export function inlinePool(work: PageWork): StagePool {
  return { width: 1, work, close: async () => {} };
}

export interface GrowingStagePoolOptions extends Pick<
  StageThreadsOptions,
  'metrics' | 'schemaAfter'
> {
  /** Called when threads are started. */
  readonly setup: () => ThreadSetup;
  /** For pages that no thread takes. */
  readonly work: PageWork;
  readonly budget: ThreadBudget;
  readonly row: string;
  readonly log: Log;
}

/** Starts in the calling thread; when the row proves to be long, threads start and take over. */
export class GrowingStagePool implements StagePool {
  readonly #options: GrowingStagePoolOptions;
  #bytes = 0;
  #growing: Promise<void> | undefined;
  #taken = 0;
  #threads: StageThreads | undefined;

  constructor(options: GrowingStagePoolOptions) {
    this.#options = options;
  }

  get width(): number {
    return Math.max(1, this.#threads?.width ?? 0);
  }

  async work(page: Page): Promise<WorkedPage> {
    const { fromBytes } = this.#options.budget;
    this.#bytes += page.bytes;
    if (this.#bytes > fromBytes) this.#growing ??= this.#grow();
    if (fromBytes === 0) await this.#growing;
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
    const { budget, metrics, schemaAfter } = this.#options;
    this.#taken = budget.take();
    if (this.#taken === 0) return;
    try {
      const setup = this.#options.setup();
      const { StageThreads } = await import('./stage-threads.ts');
      const threads = new StageThreads({ setup, metrics, schemaAfter, count: this.#taken });
      this.#threads = threads;
      const started = threads.started().then(() => this.#warnOf(threads.fault));
      if (budget.fromBytes === 0) await started;
    } catch (error) {
      this.#warnOf(messageOf(error));
    }
  }

  #warnOf(fault: string | undefined): void {
    const { log, row } = this.#options;
    if (fault !== undefined)
      log.warn('worker threads could not be started; the row continues in one thread', {
        row,
        reason: fault,
      });
  }
}
