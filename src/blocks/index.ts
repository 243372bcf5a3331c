import { describedBlocks, grammarOf } from '../document/grammar.ts';
import type { BlockDefinition } from './define-block.ts';
import { backfillBlock } from './backfill/index.ts';
import { catalogBlock } from './catalog/index.ts';
import { completeForBlock } from './complete-for/index.ts';
import { contractBlock } from './contract/index.ts';
import { deliveryBlock } from './delivery/index.ts';
import { dlqBlock } from './dlq/index.ts';
import { executionBlock } from './execution/index.ts';
import { lineageBlock } from './lineage/index.ts';
import { localOutputsBlock } from './local-outputs/index.ts';
import { maskingBlock } from './masking/index.ts';
import { metadataColumnsBlock } from './metadata-columns/index.ts';
import { notificationsBlock } from './notifications/index.ts';
import { observabilityBlock } from './observability/index.ts';
import { partitionBlock } from './partition/index.ts';
import { qualityBlock } from './quality/index.ts';
import { reconcileBlock } from './reconcile/index.ts';
import { mirrorBlock, replicationBlock } from './replication/index.ts';
import { resilienceBlock } from './resilience/index.ts';
import { rollbackBlock } from './rollback/index.ts';
import { scheduleBlock } from './schedule/index.ts';
import { schemaDriftBlock } from './schema-drift/index.ts';
import { selectionBlock } from './selection/index.ts';
import { shardBlock } from './shard/index.ts';
import { slaBlock } from './sla/index.ts';
import { stateBlock } from './state/index.ts';
import { verifyBlock } from './verify/index.ts';

/**
 * Every block a document may hold besides its structure, in the order in which records meet them:
 * schemas list them and they are shown in this order.
 */
export const BLOCKS: readonly BlockDefinition[] = [
  stateBlock,
  dlqBlock,
  maskingBlock,
  qualityBlock,
  contractBlock,
  schemaDriftBlock,
  executionBlock,
  selectionBlock,
  deliveryBlock,
  resilienceBlock,
  partitionBlock,
  shardBlock,
  backfillBlock,
  replicationBlock,
  mirrorBlock,
  scheduleBlock,
  verifyBlock,
  reconcileBlock,
  slaBlock,
  rollbackBlock,
  lineageBlock,
  catalogBlock,
  metadataColumnsBlock,
  localOutputsBlock,
  observabilityBlock,
  notificationsBlock,
  completeForBlock,
];

export const GRAMMAR = grammarOf(BLOCKS);

/** All that the reference and `/v1/schemas` describe, sorted by name. */
export const DESCRIBED_BLOCKS = describedBlocks(GRAMMAR);
