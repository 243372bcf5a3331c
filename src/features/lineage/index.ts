import { lineageBlock } from '../../blocks/lineage/index.ts';
import { blockOf } from '../../blocks/define-block.ts';
import type { RunObserver } from '../../engine/observe/observer.ts';
import type { Env } from '../../lib/env.ts';
import type { Outages } from '../../lib/outages.ts';
import type { Plan } from '../../plan/plan.ts';

/** The observer that a document with `lineage` asks for. */
export async function lineageObserver(
  plan: Plan,
  env: Env,
  outages: Outages,
): Promise<RunObserver | undefined> {
  const lineage = blockOf(plan, lineageBlock);
  if (lineage === undefined) return undefined;
  const { createLineageObserver } = await import('./observer.ts');
  return createLineageObserver(lineage, env, outages);
}
