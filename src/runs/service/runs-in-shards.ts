import type { StoredRun } from '../../history/history.ts';
import type { Env } from '../../lib/env.ts';
import type { Callback, RunRecord } from '../../wire/run.ts';
import type { CallbackSender } from '../callbacks/callback-sender.ts';
import { runsTotal } from './metrics.ts';
import { endingInShards } from './record.ts';
import type { RunListener } from './run-listener.ts';
import { followAll } from './run-listeners.ts';

export interface RunsInShardsOptions {
  readonly env: Pick<Env, 'log' | 'metrics'>;
  readonly listeners?: readonly RunListener[];
  readonly callbacks: Pick<CallbackSender, 'send'>;
  readonly recordOf: (runId: string) => Promise<RunRecord>;
}

/** Runs that no server has, because each executes some of their shards. */
export class RunsInShards {
  readonly #options: RunsInShardsOptions;

  constructor(options: RunsInShardsOptions) {
    this.#options = options;
  }

  /** The last shard ended here, or was found to have ended; `calls`: the callback is due. */
  ended(run: StoredRun, calls: boolean): void {
    const { env, listeners = [], callbacks, recordOf } = this.#options;
    const { run_id, name, started_at, error } = run;
    const ending = endingInShards(run);
    env.metrics.inc(runsTotal, ending);
    env.log.info('run ended', { run_id, name, ...ending });
    // What is stored of it holds no secret: a clustered server takes no callback with one.
    if (calls && run.callback !== undefined)
      callbacks.send(run.callback as Callback, recordOf(run_id));
    const identity = { run_id, name: name ?? '', measured_as: null };
    const finished_at = run.finished_at ?? run.submitted_at;
    const end = { status: ending.status, started_at, finished_at, error, outcome: null };
    followAll(listeners, identity, env.log)({ kind: 'ended', end });
  }
}
