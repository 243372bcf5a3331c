import type { BlockDefinition } from '../block.ts';
import { authBlock } from './auth.ts';
import { backfillBlock } from './backfill.ts';
import { catalogBlock } from './catalog.ts';
import { contractBlock } from './contract.ts';
import { deliveryBlock } from './delivery.ts';
import { dlqBlock } from './dlq.ts';
import { documentBlock } from './document.ts';
import { executionBlock } from './execution.ts';
import { fanOutBlock } from './fan-out.ts';
import { lineageBlock } from './lineage.ts';
import { localOutputsBlock } from './local-outputs.ts';
import { maskingBlock } from './masking.ts';
import { matrixBlock } from './matrix.ts';
import { metadataColumnsBlock } from './metadata-columns.ts';
import { notificationsBlock } from './notifications.ts';
import { observabilityBlock } from './observability.ts';
import { paramsBlock } from './params.ts';
import { partitionBlock } from './partition.ts';
import { pipelineBlock } from './pipeline.ts';
import { qualityBlock } from './quality.ts';
import { reconcileBlock } from './reconcile.ts';
import { resilienceBlock } from './resilience.ts';
import { scheduleBlock } from './schedule.ts';
import { rollbackBlock } from './rollback.ts';
import { schemaDriftBlock } from './schema-drift.ts';
import { selectionBlock } from './selection.ts';
import { shardBlock } from './shard.ts';
import { sinkBlock } from './sink.ts';
import { slaBlock } from './sla.ts';
import { sourceBlock } from './source.ts';
import { stateBlock } from './state.ts';
import { edgesBlock, nodesBlock } from './topology.ts';
import { transformBlock } from './transform.ts';
import { varsBlock } from './vars.ts';
import { verifyBlock } from './verify.ts';

/** Every block a document may hold, by name. */
export const BLOCKS: readonly BlockDefinition<unknown>[] = [
  authBlock,
  backfillBlock,
  catalogBlock,
  contractBlock,
  deliveryBlock,
  dlqBlock,
  documentBlock,
  edgesBlock,
  executionBlock,
  fanOutBlock,
  lineageBlock,
  localOutputsBlock,
  maskingBlock,
  matrixBlock,
  metadataColumnsBlock,
  nodesBlock,
  notificationsBlock,
  observabilityBlock,
  paramsBlock,
  partitionBlock,
  pipelineBlock,
  qualityBlock,
  reconcileBlock,
  resilienceBlock,
  rollbackBlock,
  scheduleBlock,
  schemaDriftBlock,
  selectionBlock,
  shardBlock,
  sinkBlock,
  slaBlock,
  sourceBlock,
  stateBlock,
  transformBlock,
  varsBlock,
  verifyBlock,
];
