import { ConfigError } from '../../lib/errors.ts';
import type { JsonObject } from '../../lib/text/json.ts';
import { loadToPlan } from '../../plan/load-to-plan.ts';
import { planDocument } from '../../plan/plan-document.ts';
import type { Plan } from '../../plan/plan.ts';
import { outsideOf, readDocument } from '../../runs/planning/open-document.ts';
import { defineJob, type JobContext } from '../../runs/worker/define-job.ts';
import { planJobSchema, type RequestOf } from '../../wire/job.ts';
import type { RunPlan } from '../../wire/rerun.ts';
import type { SubmittedDocument } from '../../wire/submission.ts';
import { rowDocument, topologyDocument } from './plan-view.ts';
import { describedRowTypes } from './stage-types.ts';

export type ViewedPlan = Omit<RunPlan, 'run_id' | 'clock' | 'from' | 'stood_in'>;

/** Shows how a document runs. Tokens of secrets stay as they are, so that nobody is asked for one. */
export const planJob = defineJob({
  kind: 'plan',
  word: 'plan',
  request: planJobSchema,
  limits: {
    atOnce: 2,
    waiting: 100,
    limitMs: 45_000,
    countsFrom: 'begin',
    graceMs: 0,
    overdue: 'unprocessable',
    isRepeatable: true,
  },
  execute: async (request, context): Promise<ViewedPlan> => {
    const { plan, params } = await planOf(request, context);
    const { redactor } = context.env;
    const typesOf = await describedRowTypes(plan.rows, context.env);
    return redactor.json({
      name: plan.name,
      on_error: plan.onError,
      max_concurrent: plan.maxConcurrent,
      rows: plan.rows.map((row) => ({ row: row.id, ...rowDocument(row, plan, typesOf(row)) })),
      ...(plan.topology === undefined ? {} : { graph: topologyDocument(plan.topology) }),
      params,
      warnings: plan.warnings.map(({ path, message }) => ({ path, message })),
    });
  },
});

interface Looked {
  readonly plan: Plan;
  readonly params: JsonObject;
}

/**
 * With a text in the place of each value that is not stored. Where that is no value of its type,
 * placeholders stand for all parameters.
 */
async function planOf(
  { document, withheld }: RequestOf<'plan'>,
  context: JobContext,
): Promise<Looked> {
  const standIn = (names: readonly string[]) =>
    Object.fromEntries(names.map((name) => [name, MASK]));
  const { params, env } = document.bound ?? { params: {}, env: {} };
  const bound = {
    ...document.bound,
    params: { ...params, ...standIn(withheld.params) },
    env: { ...env, ...standIn(withheld.env) },
  };
  try {
    return await look({ ...document, bound }, context);
  } catch (error) {
    if (!(error instanceof ConfigError) || withheld.params.length === 0) throw error;
    return look({ ...document, bound: { params: {}, env: bound.env } }, context);
  }
}

const MASK = '***';

async function look(document: SubmittedDocument, context: JobContext): Promise<Looked> {
  const { parts, cpus } = context;
  const load = () =>
    readDocument(document, context.env, {
      ...outsideOf(context),
      keepSecrets: true,
      paramMode: 'placeholders',
    });
  const read = await loadToPlan(load, parts, { cpus });
  const plan = planDocument(read.document, parts, { cpus });
  return { plan, params: read.document.params };
}
