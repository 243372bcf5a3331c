import { blockOf } from '../../../blocks/define-block.ts';
import { BLOCKS } from '../../../blocks/index.ts';
import { scheduleBlock } from '../../../blocks/schedule/index.ts';
import type { ScheduleSpec } from '../../../blocks/schedule/schema.ts';
import { loadToPlan } from '../../../plan/load-to-plan.ts';
import { planDocument } from '../../../plan/plan-document.ts';
import { outsideOf, readDocument } from '../../../runs/planning/open-document.ts';
import { notifiedPlanOf } from '../../../runs/planning/plan-summary.ts';
import { defineJob } from '../../../runs/worker/define-job.ts';
import { scheduleJobSchema } from '../../../wire/job.ts';
import type { NotifiedPlan } from '../../../wire/plan-summary.ts';
import { cooldownsOf, type Cooldowns } from '../job.ts';

export interface ReadSchedule {
  /** Name of its runs. */
  readonly pipeline: string;
  readonly isNamed: boolean;
  /** Undefined for a document without one. */
  readonly spec: ScheduleSpec | undefined;
  readonly cooldowns: Cooldowns;
  /** Who is told when it gives up. */
  readonly notified: NotifiedPlan | undefined;
}

/** Everything but the block itself is read as it is for a run. */
const OTHER_BLOCKS = BLOCKS.filter(({ name }) => name !== scheduleBlock.name);

export const scheduleJob = defineJob({
  kind: 'schedule',
  word: 'reading of a schedule',
  request: scheduleJobSchema,
  limits: {
    atOnce: 4,
    waiting: 100_000,
    limitMs: 45_000,
    countsFrom: 'begin',
    graceMs: 0,
    overdue: 'unprocessable',
    isRepeatable: true,
  },
  execute: async ({ document, keeps_secrets: keepSecrets }, context): Promise<ReadSchedule> => {
    const { parts, cpus } = context;
    const load = () =>
      readDocument(document, context.env, {
        ...outsideOf(context),
        blocks: OTHER_BLOCKS,
        ...(keepSecrets ? { keepSecrets } : {}),
      });
    const { document: read, isNamed } = await loadToPlan(load, parts, { cpus });
    const plan = planDocument(read, parts, { cpus });
    return {
      pipeline: plan.name,
      isNamed,
      spec: blockOf(plan, scheduleBlock),
      cooldowns: cooldownsOf(plan),
      notified: notifiedPlanOf(plan),
    };
  },
});
