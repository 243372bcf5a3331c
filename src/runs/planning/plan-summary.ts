import type { JsonObject } from '../../lib/text/json.ts';
import type { Plan, RowPlan } from '../../plan/plan.ts';
import { cleanUpFault, unscopedCleanUps, unscopedSources } from '../../plan/rules/backfill.ts';
import type { NotifiedPlan, NotifiedRow, RangeSummary } from '../../wire/plan-summary.ts';

/** What notifications about the runs of a plan are made from; undefined when it has no rules. */
export function notifiedPlanOf(plan: Plan): NotifiedPlan | undefined {
  if (plan.notifications === undefined) return undefined;
  const { rules, isOneRow } = plan.notifications;
  return {
    name: plan.name,
    // A parsed rule is plain JSON.
    rules: rules as unknown as readonly JsonObject[],
    is_one_row: isOneRow,
    rows: plan.rows.map(notifiedRow),
    listing: plan.fanOuts.map(({ id }) => id),
  };
}

function notifiedRow({ id, role, parent, breaker }: RowPlan): NotifiedRow {
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
    window: plan.backfill?.window ?? null,
    timezone: plan.backfill?.timezone ?? null,
    unscoped_sources: unscopedSources(plan).map(({ id }) => id),
    clean_up_fault: sweeping.length === 0 ? null : cleanUpFault(sweeping),
  };
}
