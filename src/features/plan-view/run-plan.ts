/** The plan of a run that was submitted. */
import type { Jobs } from '../../runs/service/jobs.ts';
import { submittedDocument, type BaseDocument } from '../../runs/service/prepared.ts';
import type { Runs } from '../../runs/service/runs.ts';
import { withheldOf } from '../../runs/service/stored-submission.ts';
import type { DocumentPlan, PlanRequest, RunPlan } from '../../wire/rerun.ts';
import { planJob } from './plan-job.ts';

export interface RunPlanServices {
  readonly runs: Pick<Runs, 'submitted'>;
  readonly jobs: Jobs;
}

/**
 * Rejects with `RefusedError`: 404 for an unknown run, 422 where its document is not stored; or
 * with `ConfigError` for a document that cannot be planned any more.
 */
export type ShowRunPlan = (runId: string, signal: AbortSignal) => Promise<RunPlan>;

/**
 * Rejects with `ConfigError`, which holds every problem of the document with its place. Nothing is
 * contacted, and nobody is asked for a secret.
 */
export type ShowDocumentPlan = (request: PlanRequest, signal: AbortSignal) => Promise<DocumentPlan>;

export function createDocumentPlan({
  jobs,
  base,
}: {
  readonly jobs: Jobs;
  readonly base: () => BaseDocument | undefined;
}): ShowDocumentPlan {
  return async (request, signal) => {
    const document = submittedDocument({ ...request, name: request.name ?? null }, base());
    const withheld = { params: [], env: [] };
    return jobs.run(planJob, { kind: 'plan', document, withheld }, { signal });
  };
}

export function createRunPlan({ runs, jobs }: RunPlanServices): ShowRunPlan {
  return async (runId, signal) => {
    const { content, base } = await runs.submitted(runId);
    const withheld = withheldOf(content);
    const plan = await jobs.run(
      planJob,
      { kind: 'plan', document: submittedDocument(content, base), withheld },
      { signal },
    );
    return {
      run_id: runId,
      clock: content.clock,
      from: content.reads_anew ? 'start' : 'bookmark',
      stood_in: [...withheld.params, ...withheld.env],
      ...plan,
    };
  };
}
