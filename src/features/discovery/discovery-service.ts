/** The data sets of the source of a document that is not submitted. */
import type { Jobs } from '../../runs/service/jobs.ts';
import { failureOf } from '../../runs/service/job-refusal.ts';
import { submittedDocument, type BaseDocument } from '../../runs/service/prepared.ts';
import { JobError } from '../../runs/worker/job-fault.ts';
import type { DiscoverRequest, DiscoveryReport } from '../../wire/discovery.ts';
import { discoverJob } from './discover-job.ts';

/** Rejects with `ConfigError`, or with `RefusedError` for a source that lists nothing. */
export type ListDataSets = (
  request: DiscoverRequest,
  signal: AbortSignal,
) => Promise<DiscoveryReport>;

export function createDiscovery({
  jobs,
  base,
}: {
  readonly jobs: Jobs;
  readonly base: () => BaseDocument | undefined;
}): ListDataSets {
  return ({ source, include, exclude, ...given }, signal) =>
    jobs
      .run(
        discoverJob,
        {
          kind: 'discover',
          document: submittedDocument({ ...given, name: given.name ?? null }, base()),
          source: source ?? null,
          include,
          exclude,
        },
        { signal },
      )
      .catch((error: unknown) => {
        if (error instanceof JobError) throw failureOf(error.error, discoverJob.word);
        throw error;
      });
}
