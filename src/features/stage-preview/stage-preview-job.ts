import { RefusedError } from '../../lib/errors.ts';
import type { Plan, PlannedRow } from '../../plan/plan.ts';
import { openDocument } from '../../runs/planning/open-document.ts';
import { defineJob } from '../../runs/worker/define-job.ts';
import { failJob } from '../../runs/worker/job-fault.ts';
import { stagesJobSchema } from '../../wire/job.ts';
import type { GraphPreview, RowPreview, StagePreview } from '../../wire/stage-preview.ts';
import type { PreviewOptions } from '../../engine/preview/preview.ts';
import type { StageTrace } from '../../engine/preview/trace-stages.ts';

/**
 * Reads the first records of a row, or of the sources of a graph, and takes them through its stages
 * one by one.
 */
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
    const { parts, signal } = context;
    const env = { ...context.env, log: context.logAt('error') };
    const look = { plan, parts, env, limit, clock: env.clock.now(), signal };
    const show =
      plan.topology === undefined
        ? showsRow(look, rowToShow(plan, wanted))
        : showsGraph(look, nodeToShow(plan, wanted));
    try {
      const shown = await show();
      return env.redactor.json(shown);
    } catch (error) {
      return failJob(error, env.redactor);
    }
  },
});

type Look = Omit<PreviewOptions, 'row' | 'onSchema'>;

const showsRow = (look: Look, row: PlannedRow) => async (): Promise<RowPreview> => {
  const { firstRecords } = await import('../../engine/preview/first-records.ts');
  const { traceStages } = await import('../../engine/preview/trace-stages.ts');
  const first = await firstRecords({ ...look, row });
  const { input, stages, output, error } = await traceStages({ ...look, row, ...first });
  return {
    row: row.id,
    source: row.source.type,
    sink: row.sink.type,
    input: [...input],
    stages: stages.map(stageJson),
    output: [...output],
    error: error ?? null,
  };
};

const showsGraph = (look: Look, node: string | undefined) => async (): Promise<GraphPreview> => {
  const { traceGraph } = await import('../../engine/preview/trace-graph.ts');
  const nodes = await traceGraph({ ...look, node });
  return {
    nodes: nodes.map(({ connector, inputs, stages, output, error, ...rest }) => ({
      ...rest,
      connector: connector ?? null,
      inputs: inputs.map(({ from, label, records }) => ({
        from,
        label: label ?? null,
        records: [...records],
      })),
      stages: stages.map(stageJson),
      output: [...output],
      error: error ?? null,
    })),
  };
};

function stageJson(stage: StageTrace): RowPreview['stages'][number] {
  const { before, after, dead } = stage;
  return {
    ...stage,
    before: [...before],
    after: [...after],
    dead: dead.map((one) => ({ ...one })),
  };
}

function nodeToShow({ topology }: Plan, wanted: string | null): string | undefined {
  if (wanted === null) return undefined;
  if (topology?.nodes.some(({ id }) => id === wanted) === true) return wanted;
  throw new RefusedError('unprocessable', `there is no node ${JSON.stringify(wanted)}`, {
    hint: 'leave out `row` to see all nodes',
  });
}

function rowToShow(plan: Plan, wanted: string | null): PlannedRow {
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
