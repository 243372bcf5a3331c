import type { RunObserver } from '../../engine/observe/observer.ts';
import type { Env } from '../../lib/env.ts';
import type { Outages } from '../../lib/outages.ts';
import type { Plan } from '../../plan/plan.ts';

/** The observer that a document with `lineage` asks for. */
export async function lineageObserver(
  { lineage }: Plan,
  env: Env,
  outages: Outages,
): Promise<RunObserver | undefined> {
  if (lineage === undefined) return undefined;
  const { createLineageObserver } = await import('./observer.ts');
  return createLineageObserver(lineage, env, outages);
}
