import { RefusedError } from '../../lib/errors.ts';
import type { Plan, PlannedRow } from '../../plan/plan.ts';
import { openDocument } from '../../runs/planning/open-document.ts';
import { defineJob } from '../../runs/worker/define-job.ts';
import { failJob } from '../../runs/worker/job-fault.ts';
import { stagesJobSchema } from '../../wire/job.ts';
import type { StagePreview } from '../../wire/stage-preview.ts';

/** Reads the first records of a row, and takes them through its stages one by one. */
export const stagePreviewJob = defineJob({
  kind: 'stages',
  word: 'preview',
  request: stagesJobSchema,
  limits: {
    atOnce: 2,
    waiting: 16,
    limitMs: 30_000,
    countsFrom: 'begin',
    graceMs: 0,
    overdue: 'unprocessable',
    isRepeatable: true,
  },
  execute: async ({ document, row: wanted, limit }, context): Promise<StagePreview> => {
    const plan = await openDocument(document, context);
    const row = rowToShow(plan, wanted);
    const { parts, signal } = context;
    const env = { ...context.env, log: context.logAt('error') };
    const { firstRecords } = await import('../../engine/preview/first-records.ts');
    const { traceStages } = await import('../../engine/preview/trace-stages.ts');
    const clock = env.clock.now();
    try {
      const first = await firstRecords({ plan, parts, env, row, limit, clock, signal });
      const trace = await traceStages({ plan, row, ...first, env, clock, signal });
      const { input, stages, output, error } = trace;
      const shown: StagePreview = {
        row: row.id,
        source: row.source.type,
        sink: row.sink.type,
        input: [...input],
        stages: stages.map((stage) => ({
          ...stage,
          before: [...stage.before],
          after: [...stage.after],
          dead: stage.dead.map((one) => ({ ...one })),
        })),
        output: [...output],
        error: error ?? null,
      };
      return env.redactor.json(shown);
    } catch (error) {
      return failJob(error, env.redactor);
    }
  },
});

function rowToShow(plan: Plan, wanted: string | null): PlannedRow {
  if (plan.topology !== undefined)
    throw new RefusedError('unprocessable', 'a graph of nodes has no row whose source is read', {
      hint: 'use `headgate preview`, which shows what each sink would be given',
    });
  const row = plan.rows.find(({ id, role }) =>
    wanted === null ? role === 'root' : id === wanted && role === 'root',
  );
  if (row !== undefined) return row;
  throw new RefusedError(
    'unprocessable',
    wanted === null
      ? 'every row needs the records of a parent'
      : `there is no row ${JSON.stringify(wanted)} that can be read by itself`,
    { hint: 'choose a row without `parent`' },
  );
}
