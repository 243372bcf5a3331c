/** Jobs that execute in this process: what a command works on is its own. */
import { availableParallelism } from 'node:os';
import type { Parts } from '../../kit/parts.ts';
import type { Env } from '../../lib/env.ts';
import type { Jobs } from '../../runs/service/jobs.ts';

export function localJobs(env: Env, parts: Parts): Jobs {
  return {
    run: async (definition, request, { signal = new AbortController().signal, hear }) =>
      await definition.execute(definition.request.parse(request), {
        id: env.ids.next(),
        signal,
        env,
        parts,
        threads: 0,
        cpus: availableParallelism(),
        logAt: () => env.log,
        send: (event) => hear?.(event),
        isOwned: () => Promise.resolve(true),
      }),
  };
}
