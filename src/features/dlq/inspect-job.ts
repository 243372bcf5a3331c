import { defineJob } from '../../runs/worker/define-job.ts';
import { inspectJobSchema } from '../../wire/job.ts';
import type { Inspection } from '../../wire/dlq.ts';

/** Shown in one answer, whatever is asked for. */
const MOST_LETTERS = 1000;

/** Reads a whole queue of dead letters. */
export const inspectJob = defineJob({
  kind: 'inspect',
  word: 'inspection of dead letters',
  request: inspectJobSchema,
  limits: {
    atOnce: 2,
    waiting: 32,
    limitMs: 120_000,
    countsFrom: 'begin',
    graceMs: 0,
    isRepeatable: true,
  },
  execute: async (
    { location, reason, cause, limit: asked, keys },
    { env, signal },
  ): Promise<Inspection> => {
    const { inspect } = await import('./inspect.ts');
    const limit = Math.min(asked, MOST_LETTERS);
    return inspect({
      location,
      reason: reason ?? undefined,
      cause: cause ?? undefined,
      limit,
      keys,
      cwd: env.cwd,
      signal,
    });
  },
});
