/** Queues of dead letters, read and changed in worker processes of the server. */
import type { z } from 'zod';
import type { Jobs } from '../../runs/service/jobs.ts';
import type {
  discardRequestSchema,
  DiscardReport,
  Inspection,
  inspectRequestSchema,
} from '../../wire/dlq.ts';
import { purgeJob } from './purge-job.ts';
import { inspectJob } from './inspect-job.ts';

/** Both reject with a `RefusedError` and stop when the signal fires. */
export interface DeadLetterFiles {
  inspect(
    request: Readonly<z.infer<typeof inspectRequestSchema>>,
    signal: AbortSignal,
  ): Promise<Inspection>;
  purge(
    request: Readonly<z.infer<typeof discardRequestSchema>>,
    signal: AbortSignal,
  ): Promise<DiscardReport>;
}

export function createDeadLetterFiles(jobs: Jobs): DeadLetterFiles {
  return {
    inspect: ({ location, reason, cause, limit, encryption_keys: keys }, signal) =>
      jobs.run(
        inspectJob,
        { kind: 'inspect', location, reason: reason ?? null, cause: cause ?? null, limit, keys },
        { signal },
      ),
    purge: (request, signal) => {
      const {
        location,
        reason,
        cause,
        letter,
        before_ms,
        delete: isFinal,
        encryption_keys: keys,
      } = request;
      const filter = {
        reason: reason ?? null,
        cause: cause ?? null,
        letter: letter ?? null,
        before_ms: before_ms ?? null,
      };
      return jobs.run(
        purgeJob,
        { kind: 'discard', location, ...filter, is_final: isFinal, keys },
        { signal },
      );
    },
  };
}
