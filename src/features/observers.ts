/** Who is told what a run does, by what its document declares. */
import type { RunObserver } from '../engine/observe/observer.ts';
import type { Env } from '../lib/env.ts';
import { teeMetrics } from '../lib/metrics.ts';
import type { Plan } from '../plan/plan.ts';
import type { Notifier } from './notifications/index.ts';

/** Gives the observer of a feature, or none when the document does not ask for it; loads the feature only then. */
type Invite = (plan: Plan, env: Env) => Promise<RunObserver | undefined>;

const FEATURES: readonly Invite[] = [];

/**
 * To be handed to `execute` by whoever runs a plan. `notifier`: that of the process; absent in the workers of a server, which tells of
 * their runs itself, because it remembers more than one of them.
 */
export async function observersOf(plan: Plan, env: Env, notifier?: Notifier): Promise<readonly RunObserver[]> {
  const invited = await Promise.all(FEATURES.map((invite) => invite(plan, env)));
  return [...invited, notifier?.observerOf(plan)].filter((observer) => observer !== undefined);
}
