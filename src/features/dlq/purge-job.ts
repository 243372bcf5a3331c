import { defineJob } from '../../runs/worker/define-job.ts';
import { discardJobSchema } from '../../wire/job.ts';
import type { DiscardReport } from '../../wire/dlq.ts';

/**
 * Rewrites the files of a queue. Only one at a time: of two in the same file, one would
 * restore what the other removed.
 */
export const purgeJob = defineJob({
  kind: 'discard',
  word: 'removal of dead letters',
  request: discardJobSchema,
  limits: { atOnce: 1, waiting: 32, limitMs: 600_000, countsFrom: 'begin', graceMs: 10_000 },
  execute: async (
    { location, reason, cause, letter, before_ms: beforeMs, is_final: isFinal, keys },
    { env, signal },
  ): Promise<DiscardReport> => {
    const { purge } = await import('./purge.ts');
    const filter = {
      reason: reason ?? undefined,
      cause: cause ?? undefined,
      letter: letter ?? undefined,
      beforeMs: beforeMs ?? undefined,
    };
    return purge({ location, filter, delete: isFinal, keys, cwd: env.cwd, signal });
  },
});
