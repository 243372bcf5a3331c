/** Runs as the API shows them. */
import type { ClusterStore } from '../../history/cluster.ts';
import type { StoredRun } from '../../history/history.ts';
import { SHARDED } from '../../history/shards.ts';
import type { Env } from '../../lib/env.ts';
import { RefusedError } from '../../lib/errors.ts';
import type { RunPage, RunRecord } from '../../wire/run.ts';
import type { ShardProgress } from '../../wire/shards.ts';
import type { HistoryHealth } from './history-health.ts';
import type { LiveRuns } from './live-runs.ts';
import { presentRun } from './record.ts';
import type { RunQuery, SubmittedRun } from './runs.ts';
import { readSubmission } from './stored-submission.ts';

export interface RunReaderOptions {
  readonly env: Pick<Env, 'clock' | 'redactor'>;
  readonly health: HistoryHealth;
  readonly live: Pick<LiveRuns, 'get'>;
  readonly sharedBy: ClusterStore | undefined;
}

export class RunReader {
  readonly #options: RunReaderOptions;

  constructor(options: RunReaderOptions) {
    this.#options = options;
  }

  async get(runId: string): Promise<RunRecord> {
    const run = await this.find(runId);
    return this.#present(run, await this.#progressOf([run]));
  }

  async submitted(runId: string): Promise<SubmittedRun> {
    const run = await this.find(runId);
    const stored = await this.#options.health.ask((history) => history.getSubmission(runId));
    const content = stored === undefined ? undefined : readSubmission(stored);
    if (content === undefined)
      throw new RefusedError('unprocessable', 'the document of the run is not stored', {
        hint: 'submit it again; one that holds credentials as they are is not kept: name them with `${env:…}` or `${secret:…}`',
      });
    const record = this.#present(run, await this.#progressOf([run]));
    return { record, content, base: stored?.base };
  }

  async list(query: RunQuery): Promise<RunPage> {
    const { since, until, ...rest } = query;
    const stored = {
      ...rest,
      ...(since === undefined ? {} : { since: since.toISOString() }),
      ...(until === undefined ? {} : { until: until.toISOString() }),
    };
    const page = await this.#options.health.ask((history) => history.listRuns(stored));
    const progress = await this.#progressOf(page.runs);
    return {
      runs: page.runs.map((run) => this.#present(run, progress)),
      next_cursor: page.more ? (page.runs.at(-1)?.run_id ?? null) : null,
    };
  }

  /** A run that waits or executes here is known even while the store does not answer. */
  async find(runId: string): Promise<StoredRun> {
    try {
      const run = await this.#options.health.ask((history) => history.getRun(runId));
      if (run === undefined || run.parent_id !== undefined) throw unknownRun();
      return run;
    } catch (error) {
      const known = isUnavailable(error) ? this.#options.live.get(runId)?.known : undefined;
      if (known === undefined) throw error;
      return known;
    }
  }

  #present(run: StoredRun, progress: ReadonlyMap<string, ShardProgress>): RunRecord {
    const { clock, redactor } = this.#options.env;
    const { run_id } = run;
    return presentRun(run, redactor, clock.now(), {
      progress: this.#options.live.get(run_id)?.progress,
      shards: progress.get(run_id),
    });
  }

  /** How far those of the runs are that are executed in shards. */
  async #progressOf(runs: readonly StoredRun[]): Promise<ReadonlyMap<string, ShardProgress>> {
    const { sharedBy, health } = this.#options;
    const ids = runs.filter(({ owner }) => owner === SHARDED).map(({ run_id }) => run_id);
    if (sharedBy === undefined || ids.length === 0) return new Map();
    return health.ask(() => sharedBy.shards.shardProgress(ids));
  }
}

function isUnavailable(error: unknown): boolean {
  return error instanceof RefusedError && error.code === 'unavailable';
}

export function unknownRun(): RefusedError {
  return new RefusedError('not_found', 'there is no such run');
}
