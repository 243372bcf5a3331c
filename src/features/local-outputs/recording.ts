/** Keeps the ledger of the files that runs write, while they run and at their end. */
import type { RunFence } from '../../history/history.ts';
import type { StoredOutput } from '../../history/outputs.ts';
import { messageOf } from '../../lib/errors.ts';
import type { RunListener } from '../../runs/service/run-listener.ts';
import type { OutputNews } from '../../wire/outcome.ts';
import { expiryOf, writtenBy } from './ledger.ts';
import type { LocalOutputOptions } from './local-outputs.ts';
import { RECORDED } from './metrics.ts';

/** A run that has not ended by then has the files recorded that it opened. */
const OPENED_AFTER_MS = 50;

type Ledger = Pick<LocalOutputOptions, 'env' | 'store' | 'machine'> &
  Partial<Pick<LocalOutputOptions, 'retentionDays'>>;

/** Records what a run wrote. */
export async function recordOutputs(
  runId: string,
  outcome: OutputNews,
  ledger: Ledger,
): Promise<void> {
  const noted = await noteOutputs(runId, outcome, ledger);
  for (const { kind } of noted) ledger.env.metrics.inc(RECORDED, { kind });
  const expiring = noted.flatMap((output) => {
    const expiry = expiryOf(output, ledger.retentionDays ?? 0);
    return expiry === undefined ? [] : [{ path: output.path, expiry }];
  });
  const [first] = expiring.sort((one, other) => one.expiry.getTime() - other.expiry.getTime());
  if (first === undefined) return;
  ledger.env.log.info('files of the run will be deleted', {
    run_id: runId,
    files: expiring.length,
    first: first.path,
    from: first.expiry.toISOString(),
    hint: '`--local-output-retention-days 0` or `local_outputs: {retention_days: 0}` keeps them',
  });
}

/**
 * Records files when a run opens them, so that they count as in use and are known even when its
 * process dies. A ledger that cannot be written is logged as a warning.
 */
export async function noteOutputs(
  runId: string,
  news: OutputNews,
  { env, store, machine }: Ledger,
  by?: RunFence,
): Promise<readonly StoredOutput[]> {
  try {
    const written = writtenBy(runId, news, machine);
    const isTracked = news.local_outputs?.track !== false;
    if (!isTracked) {
      if (written.length > 0) await store.forgetOutputs(written.map(({ id }) => id));
      return [];
    }
    return written.length === 0 || (await store.putOutputs(written, by)) ? written : [];
  } catch (error) {
    env.log.warn('files that a run wrote could not be recorded', {
      run_id: runId,
      error: messageOf(error),
    });
    return [];
  }
}

/**
 * Keeps the ledger of the files that runs write. A run that ends soon after it has opened its files
 * has them recorded once, by its end.
 */
export function outputsListener(ledger: Ledger): RunListener {
  const opened = new Set<OpenedNews>();
  return {
    name: 'local outputs',
    follow: ({ run_id: runId, execution }) => {
      const by = execution === undefined ? undefined : { run_id: runId, ...execution };
      const noted = new OpenedNews(opened, (news) => noteOutputs(runId, news, ledger, by));
      return (event) => {
        if (event.kind === 'opened') noted.add(event.news);
        if (event.kind === 'ended' && event.end.outcome !== null) {
          noted.drop();
          void recordOutputs(runId, event.end.outcome, ledger);
        }
      };
    },
    async settle() {
      await Promise.all([...opened].map((one) => one.write()));
    },
  };
}

/** Files that a run has opened, and that nobody has recorded yet. */
class OpenedNews {
  readonly #all: Set<OpenedNews>;
  readonly #note: (news: OutputNews) => Promise<unknown>;
  #news: OutputNews[] = [];
  #timer: NodeJS.Timeout | undefined;

  /** `all`: in which it is while something is to be recorded. */
  constructor(all: Set<OpenedNews>, note: (news: OutputNews) => Promise<unknown>) {
    this.#all = all;
    this.#note = note;
  }

  add(news: OutputNews): void {
    this.#news.push(news);
    this.#timer ??= setTimeout(() => void this.write(), OPENED_AFTER_MS);
    this.#all.add(this);
  }

  /** The end of the run names them. */
  drop(): void {
    this.#take();
  }

  async write(): Promise<void> {
    await Promise.all(this.#take().map((news) => this.#note(news)));
  }

  #take(): OutputNews[] {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#all.delete(this);
    return this.#news.splice(0);
  }
}
