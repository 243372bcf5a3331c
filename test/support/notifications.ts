/** Runs, rules and receivers for tests of notifications. */
import { planRules, type PlannedRule } from '../../src/blocks/notifications/plan.ts';
import { notificationsSchemaOf } from '../../src/blocks/notifications/schema.ts';
import { CHANNELS } from '../../src/channels/index.ts';
import type { JsonValue } from '../../src/lib/text/json.ts';
import type { Plan, PlannedRow } from '../../src/plan/plan.ts';
import type { EndedRun } from '../../src/features/notifications/ended-run.ts';
import { notifiedPlanOf } from '../../src/runs/planning/plan-summary.ts';
import type { RunListener } from '../../src/runs/service/run-listener.ts';
import type { NotifiedPlan } from '../../src/wire/plan-summary.ts';
import type { InvocationOutcome } from '../../src/wire/outcome.ts';

export const START = '2026-01-31T12:00:00.000Z';

export function rulesOf(...rules: readonly Record<string, JsonValue>[]): readonly PlannedRule[] {
  const named = rules.map((rule, index) => ({ name: `rule ${index}`, ...rule }));
  return planRules(notificationsSchemaOf(CHANNELS).parse(named), CHANNELS);
}

/** A moment so many seconds after the start. */
export function after(seconds: number): string {
  return new Date(Date.parse(START) + seconds * 1000).toISOString();
}

export function invocation(
  row: string,
  over: Partial<InvocationOutcome> & { written?: number; dead?: number } = {},
): InvocationOutcome {
  const { written = 3, dead = 0, ...rest } = over;
  return {
    invocation_id: `invocation of ${row}`,
    row_id: row,
    parent_record_key: null,
    source: 'csv',
    sink: 'jsonl',
    status: rest.error === undefined || rest.error === null ? 'completed' : 'failed',
    balance: {
      read: written + dead,
      filtered: 0,
      expanded: 0,
      transformed: written + dead,
      written,
      dead_lettered: dead,
      withheld: 0,
    },
    bytes_read: 0,
    pages: 1,
    lane: 'records',
    error: null,
    started_at: START,
    finished_at: after(2),
    duration_ms: 2000,
    ...rest,
  };
}

export interface Setting {
  /** Rows of the plan by id, with what matters of them here. */
  readonly rows?: Readonly<Record<string, Partial<PlannedRow>>>;
  readonly lists?: readonly string[];
  readonly rules?: readonly PlannedRule[];
  readonly isOneRow?: boolean;
}

export function planWith({
  rows = { eu: {}, us: {} },
  lists = [],
  rules = [],
  isOneRow = false,
}: Setting = {}): Plan {
  const plan: Pick<Plan, 'name' | 'blocks'> & { rows: unknown; fanOuts: unknown } = {
    name: 'orders',
    rows: Object.entries(rows).map(([id, row]) => ({ id, role: 'root', blocks: {}, ...row })),
    fanOuts: lists.map((id) => ({ id, role: 'discovery' })),
    blocks: { notifications: { rules, isOneRow } },
  };
  // Notifications look at nothing else of a plan.
  return plan as unknown as Plan;
}

/** A run with these invocations; failed when one of them did. */
export function notifiedWith(setting?: Setting): NotifiedPlan {
  const notified = notifiedPlanOf(planWith(setting));
  if (notified === undefined) throw new Error('the plan has rules');
  return notified;
}

export function endedRun(
  invocations: readonly InvocationOutcome[],
  setting: Setting & { readonly run?: Partial<EndedRun> } = {},
): EndedRun {
  const failed = invocations.filter(({ status }) => status === 'failed');
  const status = failed.length > 0 ? 'failed' : 'completed';
  const error = failed[0]?.error ?? null;
  return {
    runId: 'run-1',
    plan: notifiedWith(setting),
    status,
    startedAt: START,
    finishedAt: after(5),
    error: error?.message ?? null,
    outcome: {
      pipeline: 'orders',
      status,
      started_at: START,
      finished_at: after(5),
      records_written: 0,
      invocations,
      error,
    },
    ...setting.run,
  };
}

/** As the run service reports it. */
export function notifyOf(listener: RunListener, run: EndedRun): void {
  const { runId, plan, status, startedAt, finishedAt, error, outcome } = run;
  const hear = listener.follow({ run_id: runId, name: plan.name, measured_as: null });
  hear({ kind: 'planned', notified: plan });
  hear({
    kind: 'ended',
    end: {
      status,
      started_at: startedAt,
      finished_at: finishedAt,
      error,
      outcome: outcome ?? null,
    },
  });
}
