import { markSpent } from '../../lib/spent-attempts.ts';
import type { SqlDriver } from './driver.ts';

/** What a commit held that failed is gone: asking for it again gives the same error. */
export async function settleOnce(driver: SqlDriver): Promise<void> {
  try {
    await driver.settle?.();
  } catch (error) {
    if (error instanceof Error) markSpent(error);
    throw error;
  }
}
