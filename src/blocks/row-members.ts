/**
 * What blocks that shape rows make of them. Each block declares its own members; these lists only
 * join them, so that hot paths read plain fields.
 */
import type { AssembledDlq, DlqOfRow } from './dlq/plan.ts';
import type { CleanUpOfRow } from './complete-for/plan.ts';
import type { DeliveryOfRow } from './delivery/plan.ts';
import type { ExecutionOfPlan, ExecutionOfRow } from './execution/plan.ts';
import type { AssembledMetadataColumns, MetadataColumnsOfRow } from './metadata-columns/plan.ts';
import type { PartitionOfRow } from './partition/plan.ts';
import type { ShardOfRow } from './shard/plan.ts';
import type { AssembledState, StateOfRow } from './state/plan.ts';

/** While a row is assembled and judged. */
export interface AssembledMembers
  extends
    AssembledState,
    AssembledDlq,
    AssembledMetadataColumns,
    DeliveryOfRow,
    Partial<PartitionOfRow>,
    ShardOfRow {}

/** In the planned row. */
export interface RowMembers
  extends
    StateOfRow,
    DlqOfRow,
    ExecutionOfRow,
    DeliveryOfRow,
    PartitionOfRow,
    ShardOfRow,
    MetadataColumnsOfRow,
    CleanUpOfRow {}

/** In the plan. */
export type PlanMembers = ExecutionOfPlan;
