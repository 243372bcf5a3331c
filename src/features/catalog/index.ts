import { catalogBlock } from '../../blocks/catalog/index.ts';
import { blockOf } from '../../blocks/define-block.ts';
import type { RunObserver } from '../../engine/observe/observer.ts';
import type { Env } from '../../lib/env.ts';
import type { Plan } from '../../plan/plan.ts';
import type { Movement } from '../../wire/catalog.ts';

const SAMPLE_RECORDS = 100;

/** The observer of a document with `catalog`, where no server records movements. */
export async function catalogObserver(plan: Plan, env: Env): Promise<RunObserver | undefined> {
  const catalog = blockOf(plan, catalogBlock);
  if (catalog === undefined) return undefined;
  const { MovementObserver } = await import('./movements.ts');
  const { recordIn } = await import('./record-in.ts');
  return new MovementObserver({
    env,
    sampleRecords: catalog.sample_records,
    deliver: (movements) => recordIn(catalog.url, movements, env),
  });
}

/** The observer of every run of a server, which keeps the catalog of all of them. */
export async function movementObserver(
  plan: Plan,
  env: Env,
  deliver: (movements: readonly Movement[]) => void,
): Promise<RunObserver> {
  const { MovementObserver } = await import('./movements.ts');
  return new MovementObserver({
    env,
    sampleRecords: blockOf(plan, catalogBlock)?.sample_records ?? SAMPLE_RECORDS,
    deliver,
  });
}
