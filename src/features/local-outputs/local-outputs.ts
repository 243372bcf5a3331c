/**
 * Files that sinks wrote on the machine of the server: recorded, listed, previewed and deleted.
 */
import type { RunFence } from '../../history/history.ts';
import type { StoredOutput } from '../../history/outputs.ts';
import type { Env } from '../../lib/env.ts';
import { messageOf, RefusedError } from '../../lib/errors.ts';
import type { Jobs } from '../../runs/service/jobs.ts';
import type { RunListener } from '../../runs/service/run-listener.ts';
import type { CleanupRequest, OutputRecord, SweepReport } from '../../wire/local-outputs.ts';
import type { OutputNews, RunOutcome } from '../../wire/outcome.ts';
import { expiryOf, isHere, presented, writtenBy } from './ledger.ts';
import { RECORDED } from './metrics.ts';
import { previewOutput, rowLimitOf, type PreviewLimits, type ShownOutput } from './preview.ts';
import { cleanUp, sweep, type SweepServices } from './sweep.ts';

export interface LocalOutputOptions extends Omit<SweepServices, 'clock' | 'metrics'> {
  readonly env: Env;
  readonly jobs: Jobs;
  readonly preview: PreviewLimits;
}

export interface OutputFilter {
  readonly dataset_id?: string | undefined;
  readonly pipeline?: string | undefined;
  readonly include_expired: boolean;
  readonly limit: number;
}

export interface OutputOfRun extends Pick<StoredOutput, 'path' | 'row' | 'dataset_uri'> {
  readonly isHere: boolean;
  readonly isDeleted: boolean;
}

export interface LocalOutputs {
  readonly retentionDays: number;
  readonly preview: PreviewLimits;
  list(filter: OutputFilter): Promise<OutputRecord[]>;
  /** What a run wrote last, newest write first, and whether it lies on the machine of this server. */
  ofRun(runId: string): Promise<readonly OutputOfRun[]>;
  /** Rejects with `RefusedError` for an unknown id. */
  remove(id: string): Promise<SweepReport>;
  cleanUp(request: CleanupRequest): Promise<SweepReport>;
  /** Rejects with `RefusedError`. */
  show(id: string, rowCountToLoad: string | undefined, signal: AbortSignal): Promise<ShownOutput>;
}

const MOST_OF_RUN = 2000;
/** How often expired files are looked for. */
const SWEEP_EVERY_MS = 3_600_000;
/** A run that has not ended by then has the files recorded that it opened. */
const OPENED_AFTER_MS = 50;

export function createLocalOutputs(options: LocalOutputOptions): LocalOutputs {
  const { env, store, retentionDays, preview } = options;
  const services: SweepServices = { ...options, clock: env.clock, metrics: env.metrics };
  return {
    retentionDays,
    preview,
    list: async ({ include_expired, limit, dataset_id, pipeline }) => {
      const filter = {
        ...(dataset_id === undefined ? {} : { dataset_id }),
        ...(pipeline === undefined ? {} : { pipeline }),
      };
      const outputs = await store.listOutputs({
        ...filter,
        include_deleted: include_expired,
        limit,
      });
      return outputs.map((output) => presented(output, retentionDays, env.clock.now()));
    },
    ofRun: async (run_id) => {
      const outputs = await store.listOutputs({
        run_id,
        include_deleted: true,
        limit: MOST_OF_RUN,
      });
      return outputs.map((output) => ({
        path: output.path,
        row: output.row,
        dataset_uri: output.dataset_uri,
        isHere: isHere(output, options.machine),
        isDeleted: output.deleted_at !== null,
      }));
    },
    remove: async (id) =>
      sweep({ scope: 'output', dryRun: false, outputs: [await find(id, options)] }, services),
    cleanUp: (request) => cleanUp(request, services),
    show: async (id, asked, signal) => {
      if (!preview.enabled) {
        throw new RefusedError(
          'forbidden',
          'previews are disabled: the server was started without --preview-local-outputs',
        );
      }
      const output = await find(id, options);
      return previewOutput(output, rowLimitOf(asked, preview), {
        env,
        jobs: options.jobs,
        limits: preview,
        signal,
      });
    },
  };
}

async function find(
  id: string,
  { store, machine }: Pick<LocalOutputOptions, 'store' | 'machine'>,
): Promise<StoredOutput> {
  const [output] = await store.listOutputs({ ids: [id], include_deleted: true, limit: 1 });
  if (output === undefined) throw new RefusedError('not_found', 'there is no such output');
  if (!isHere(output, machine))
    throw new RefusedError('conflict', 'the file lies on the machine of another server', {
      hint: 'ask the server that executed the run',
    });
  return output;
}

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

/** Deletes expired files, now and then every hour. */
export async function keepCollecting(
  outputs: LocalOutputs,
  env: Pick<Env, 'clock' | 'log'>,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    try {
      const { deleted, bytes } = await outputs.cleanUp({
        expired: true,
        dry_run: false,
        confirm: false,
      });
      if (deleted > 0) env.log.info('expired output files were deleted', { files: deleted, bytes });
    } catch (error) {
      env.log.warn('expired output files could not be collected', { error: messageOf(error) });
    }
    await env.clock.sleep(SWEEP_EVERY_MS, signal);
  }
}

/**
 * When the first file that an invocation made is deleted, by the id of the invocation; a file of
 * somebody else that it continued never is.
 */
export function outputExpiries(
  outcome: RunOutcome,
  retentionDays: number,
): ReadonlyMap<string, string> {
  if (outcome.local_outputs?.track === false) return new Map();
  return new Map(
    outcome.invocations.flatMap((invocation) => {
      const [first] = writtenBy('', { ...outcome, invocations: [invocation] })
        .flatMap((output) => expiryOf(output, retentionDays) ?? [])
        .sort((one, other) => one.getTime() - other.getTime());
      return first === undefined ? [] : [[invocation.invocation_id, first.toISOString()] as const];
    }),
  );
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
