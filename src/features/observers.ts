/** Who is told what a run does, by what its document declares. */
import type { RunObserver } from '../engine/observe/observer.ts';
import type { Env } from '../lib/env.ts';
import type { Plan } from '../plan/plan.ts';

/** Gives the observer of a feature, or none when the document does not ask for it; loads the feature only then. */
type Invite = (plan: Plan, env: Env) => Promise<RunObserver | undefined>;

const FEATURES: readonly Invite[] = [];

/** To be handed to `execute` by whoever runs a plan. */
export async function observersOf(plan: Plan, env: Env): Promise<readonly RunObserver[]> {
  const invited = await Promise.all(FEATURES.map((invite) => invite(plan, env)));
  return invited.filter((observer) => observer !== undefined);
}
