import { backfillBlock } from '../../blocks/backfill/index.ts';
import { resilienceBlock } from '../../blocks/resilience/index.ts';
import { notificationsBlock } from '../../blocks/notifications/index.ts';
import { blockOf } from '../../blocks/define-block.ts';
import type { JsonObject } from '../../lib/text/json.ts';
import type { Plan, PlannedRow } from '../../plan/plan.ts';
import { cleanUpFault, unscopedCleanUps, unscopedSources } from '../../blocks/backfill/rules.ts';
import type { NotifiedPlan, NotifiedRow, RangeSummary } from '../../wire/plan-summary.ts';

/** What notifications about the runs of a plan are made from; undefined when it has no rules. */
export function notifiedPlanOf(plan: Plan): NotifiedPlan | undefined {
  const notifications = blockOf(plan, notificationsBlock);
  if (notifications === undefined) return undefined;
  const { rules, isOneRow } = notifications;
  return {
    name: plan.name,
    // A parsed rule is plain JSON.
    rules: rules as unknown as readonly JsonObject[],
    is_one_row: isOneRow,
    rows: plan.rows.map(notifiedRow),
    listing: plan.fanOuts.map(({ id }) => id),
  };
}

function notifiedRow(row: PlannedRow): NotifiedRow {
  const { id, role, parent } = row;
  const breaker = blockOf(row, resilienceBlock)?.breaker;
  return {
    id,
    parent: role === 'child' ? (parent?.row ?? null) : null,
    breaker:
      breaker === undefined
        ? null
        : { failures: breaker.consecutiveFailures, cooldown_secs: breaker.cooldownSecs },
  };
}

export function rangeSummaryOf(plan: Plan): RangeSummary {
  const sweeping = unscopedCleanUps(plan);
  return {
    window: blockOf(plan, backfillBlock)?.window ?? null,
    timezone: blockOf(plan, backfillBlock)?.timezone ?? null,
    unscoped_sources: unscopedSources(plan).map(({ id }) => id),
    clean_up_fault: sweeping.length === 0 ? null : cleanUpFault(sweeping),
  };
}
