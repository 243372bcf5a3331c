/** Queues of dead letters as the server works with them: in worker processes. */
import type { z } from 'zod';
import type { Jobs } from '../../runs/service/jobs.ts';
import type {
  discardRequestSchema,
  DiscardReport,
  Inspection,
  inspectRequestSchema,
} from '../../wire/dlq.ts';
import { discardJob } from './discard-job.ts';
import { inspectJob } from './inspect-job.ts';

/** Both reject with a `RefusedError`; what they do ends when the signal fires. */
export interface DeadLetterFiles {
  inspect(
    request: Readonly<z.infer<typeof inspectRequestSchema>>,
    signal: AbortSignal,
  ): Promise<Inspection>;
  discard(
    request: Readonly<z.infer<typeof discardRequestSchema>>,
    signal: AbortSignal,
  ): Promise<DiscardReport>;
}

export function createDeadLetterFiles(jobs: Jobs): DeadLetterFiles {
  return {
    inspect: ({ location, reason, limit, encryption_keys: keys }, signal) =>
      jobs.run(
        inspectJob,
        { kind: 'inspect', location, reason: reason ?? null, limit, keys },
        { signal },
      ),
    discard: (request, signal) => {
      const { location, reason, before_ms, delete: isFinal, encryption_keys: keys } = request;
      const filter = { reason: reason ?? null, before_ms: before_ms ?? null };
      return jobs.run(
        discardJob,
        { kind: 'discard', location, ...filter, is_final: isFinal, keys },
        { signal },
      );
    },
  };
}
