import type { Env } from '../../lib/env.ts';
import { prepareJob } from '../planning/prepare-job.ts';
import type { Jobs } from './jobs.ts';
import { keyOf, PreparedCache } from './prepared-cache.ts';
import { submittedDocument, type BaseDocument, type Prepare } from './prepared.ts';

export interface PrepareOptions {
  readonly env: Pick<Env, 'variables' | 'clock'>;
  readonly jobs: Jobs;
  /** The server's default document as it is now: it may be reloaded. */
  readonly base?: () => BaseDocument | undefined;
  /** Documents are those of many runs: the tokens of backfills stay. */
  readonly isRange?: boolean;
}

/**
 * Documents are read, resolved and planned in workers: whatever one contains, it cannot hold up the
 * server. Those that come again and again are known here.
 */
export function createPrepare({ env, jobs, base, isRange = false }: PrepareOptions): Prepare {
  const { variables, clock } = env;
  const cache = new PreparedCache(clock);
  return async (submission, signal) => {
    const { bound, base: given, ...unbound } = submission;
    const baseNow = given === undefined ? base?.() : (given ?? undefined);
    const surroundings = { variables, base: baseNow?.hash };
    const key = bound === undefined ? keyOf(unbound) : undefined;
    const known = key === undefined ? undefined : cache.find(key, surroundings);
    if (known !== undefined) return known;
    const document = submittedDocument(submission, baseNow);
    const prepared = await jobs.run(
      prepareJob,
      { kind: 'prepare', document, is_range: isRange },
      { signal },
    );
    if (prepared.variables !== null && key !== undefined) {
      const reads = prepared.variables.map((name) => ({ name, value: variables[name] }));
      const chars = submission.config.length;
      cache.keep(key, { summary: prepared.summary, base: surroundings.base, reads, chars });
    }
    return prepared.summary;
  };
}
