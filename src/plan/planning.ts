import type { BlockDefinition } from '../blocks/define-block.ts';
import type { ParsedBlocks } from '../document/parse/read-blocks.ts';
import type { Parts } from '../kit/parts.ts';
import type { IssueList } from './issue-list.ts';
import type { PartPlanner } from './plan-part.ts';

/** What blocks are planned with. */
export interface Planning {
  readonly blocks: ParsedBlocks;
  readonly parts: Parts;
  readonly planner: PartPlanner;
  readonly issues: IssueList;
  /** Whether the tokens of backfills stay as they are. */
  readonly backfill: boolean;
  /** Name of the pipeline. */
  readonly name: string;
  readonly definitions: readonly BlockDefinition[];
}
