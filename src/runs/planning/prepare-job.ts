/** Whether a submitted document can run, and what the server has to know of it. */
import { CheckedValues } from '../../kit/checked-values.ts';
import { systemClock } from '../../lib/time/clock.ts';
import type { Redactor } from '../../lib/redact.ts';
import { loadToPlan } from '../../plan/load-to-plan.ts';
import { planDocument } from '../../plan/plan-document.ts';
import { prepareJobSchema, type RequestOf } from '../../wire/job.ts';
import type { PlanSummary } from '../../wire/plan-summary.ts';
import { defineJob } from '../worker/define-job.ts';
import { configFingerprint } from './fingerprint.ts';
import { outsideOf, readDocument, type OpenOptions } from './open-document.ts';
import { OutsideWatch, type VariableReads } from './outside-watch.ts';
import { refuseFiles } from './refused-files.ts';
import { notifiedPlanOf, rangeSummaryOf } from './plan-summary.ts';

export interface PreparedDocument {
  readonly summary: PlanSummary;
  /**
   * The variables it took, by name. Null when the summary is not good for another time, because a
   * file or a secrets manager was asked or a secret stands in it.
   */
  readonly variables: readonly string[] | null;
}

export const prepareJob = defineJob({
  kind: 'prepare',
  word: 'preparation',
  request: prepareJobSchema,
  limits: {
    atOnce: 32,
    ahead: { jobs: 16, workers: 8 },
    waiting: 1000,
    limitMs: 45_000,
    countsFrom: 'begin',
    graceMs: 0,
    overdue: 'unprocessable',
    isRepeatable: true,
    slowAfterMs: 1000,
    slowAtOnce: 6,
  },
  execute: async (request, context): Promise<PreparedDocument> => prepareDocument(request, context),
});

/** Parts of documents that hold no secret are checked once, whatever document they stand in. */
const checked = new CheckedValues(systemClock);

/** Throws `ConfigError`, whose stage decides the status. */
export async function prepareDocument(
  { document, is_range: isRange }: RequestOf<'prepare'>,
  options: OpenOptions,
): Promise<PreparedDocument> {
  const { env, parts, cpus } = options;
  const watch = new OutsideWatch();
  const outside = outsideOf(options);
  const range = isRange ? { backfill: 'kept' as const } : {};
  const load = () =>
    readDocument(document, env, {
      ...outside,
      variables: watch.variables(outside.variables),
      readFile: watch.calls(outside.readFile),
      ask: watch.calls(outside.ask),
    });
  const read = await loadToPlan(load, parts, { cpus, ...range });
  const reads = holdsSecrets(env.redactor, watch.reads) ? undefined : watch.reads;
  const plan = planDocument(read.document, parts, {
    cpus,
    ...(reads === undefined ? {} : { check: checked.check }),
    ...range,
  });
  refuseFiles(plan, env.cwd, read.document.locate);
  const notified = notifiedPlanOf(plan);
  const repeating = plan.rows.filter(({ guarantee }) => guarantee === 'at-least-once');
  const summary: PlanSummary = {
    name: plan.name,
    is_named: read.isNamed,
    fingerprint: configFingerprint(read.document.tree),
    warnings: plan.warnings.map(({ path, message }) => ({ path, message })),
    ...(repeating.length === 0 ? {} : { repeating: repeating.map(({ id }) => id) }),
    ...(Object.keys(read.document.params).length === 0 ? {} : { params: read.document.params }),
    ...(notified === undefined ? {} : { notified }),
    ...(isRange ? { range: rangeSummaryOf(plan) } : {}),
  };
  return { summary, variables: reads?.map(({ name }) => name) ?? null };
}

/**
 * Whether the document holds a secret that this process would forget with it; the environment stays
 * as long as the process.
 */
function holdsSecrets(learnt: Redactor, reads: VariableReads = []): boolean {
  return learnt.values().some((secret) => !reads.some(({ value }) => value === secret));
}
