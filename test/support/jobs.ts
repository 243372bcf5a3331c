/** Jobs that execute in the process of the test. */
import type { Parts } from '../../src/kit/parts.ts';
import type { Env } from '../../src/lib/env.ts';
import { AppError } from '../../src/lib/errors.ts';
import { Redactor } from '../../src/lib/redact.ts';
import type { Jobs } from '../../src/runs/service/jobs.ts';
import type { JobContext } from '../../src/runs/worker/define-job.ts';
import { errorOf, faultOf } from '../../src/runs/worker/job-fault.ts';
import type { JobRequest } from '../../src/wire/job.ts';

export interface InProcessJobs extends Jobs {
  /** What was asked for, in order. */
  readonly requests: JobRequest[];
  /** That of the last job. */
  readonly redactor: Redactor;
}

/** As a worker does them: each with a redactor of its own, errors told as they cross. */
export function inProcessJobs({ env, parts }: { env: Env; parts: Parts }): InProcessJobs {
  const requests: JobRequest[] = [];
  let redactor = new Redactor();
  return {
    requests,
    get redactor() {
      return redactor;
    },
    run: async (definition, request, { signal = new AbortController().signal, hear }) => {
      requests.push(request);
      redactor = new Redactor();
      const context: JobContext = {
        id: env.ids.next(),
        signal,
        env: { ...env, redactor },
        parts,
        threads: 0,
        cpus: 2,
        logAt: () => env.log,
        send: (event) => hear?.(event),
        isOwned: () => Promise.resolve(true),
      };
      try {
        return await definition.execute(definition.request.parse(request), context);
      } catch (error) {
        throw error instanceof AppError ? errorOf(faultOf(error, redactor)) : error;
      }
    },
  };
}
