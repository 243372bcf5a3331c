/** Who is told what a run does, by what its document declares. */
import type { RunObserver } from '../engine/observe/observer.ts';
import type { Env } from '../lib/env.ts';
import { teeMetrics } from '../lib/metrics.ts';
import type { Plan } from '../plan/plan.ts';
import { lineageObserver } from './lineage/index.ts';
import type { Notifier } from './notifications/index.ts';

/** Gives the observer of a feature, or none when the document does not ask for it; loads the feature only then. */
type Invite = (plan: Plan, env: Env) => Promise<RunObserver | undefined>;

const FEATURES: readonly Invite[] = [lineageObserver];

/**
 * What `execute` is to be given by whoever runs a plan: all it does and measures is also told to those the plan names. `notifier`: that
 * of the process; absent in the workers of a server, which tells of their runs itself, because it remembers more than one of them.
 */
export async function observed(plan: Plan, env: Env, notifier?: Notifier): Promise<Observed> {
  const invited = await Promise.all(FEATURES.map((invite) => invite(plan, env)));
  const observers = [...invited, notifier?.observerOf(plan)].filter((observer) => observer !== undefined);
  const otel = plan.observability?.otel;
  if (otel === undefined) return { env, observers };
  const { exportRun } = await import('./telemetry/telemetry.ts');
  const listeners = await exportRun(otel, env);
  return {
    env: { ...env, metrics: teeMetrics(env.metrics, ...listeners.map(({ metrics }) => metrics)) },
    observers: [...observers, ...listeners.map(({ observer }) => observer)],
  };
}

export interface Observed {
  readonly env: Env;
  readonly observers: readonly RunObserver[];
}
