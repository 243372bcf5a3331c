import type { BlockPlanner } from './plan-blocks.ts';
import type { Planning } from './planning.ts';

/** What rows are planned with. */
export interface RowContext extends Planning {
  readonly blockPlanner: BlockPlanner;
}
