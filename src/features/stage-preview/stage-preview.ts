/** The first records of a document that is not submitted, after each stage. */
import type { Jobs } from '../../runs/service/jobs.ts';
import { refusalOf } from '../../runs/service/job-refusal.ts';
import { submittedDocument, type BaseDocument } from '../../runs/service/prepared.ts';
import { JobError } from '../../runs/worker/job-fault.ts';
import type { StagePreview, StagePreviewRequest } from '../../wire/stage-preview.ts';
import { stagePreviewJob } from './stage-preview-job.ts';

/**
 * Rejects with `ConfigError`, or with `RefusedError` for what cannot be shown. The source is read,
 * and nothing is written.
 */
export type ShowStages = (
  request: StagePreviewRequest,
  signal: AbortSignal,
) => Promise<StagePreview>;

export function createStagePreview({
  jobs,
  base,
}: {
  readonly jobs: Jobs;
  readonly base: () => BaseDocument | undefined;
}): ShowStages {
  return ({ row, limit, ...given }, signal) =>
    jobs
      .run(
        stagePreviewJob,
        {
          kind: 'stages',
          document: submittedDocument({ ...given, name: given.name ?? null }, base()),
          row: row ?? null,
          limit,
        },
        { signal },
      )
      .catch((error: unknown) => {
        if (error instanceof JobError) throw refusalOf(error.error, stagePreviewJob.word);
        throw error;
      });
}
