import { z } from 'zod';
import { finding, json, optional, text } from '../../kit/schema.ts';
import { defineBlock } from '../block.ts';
import { authSchema } from './auth.ts';
import { backfillBlock } from './backfill.ts';
import { catalogBlock } from './catalog.ts';
import { deliveryField } from './delivery.ts';
import { executionSchema } from './execution.ts';
import { lineageBlock } from './lineage.ts';
import { localOutputsBlock } from './local-outputs.ts';
import { matrixSchema } from './matrix.ts';
import { metadataColumnsBlock } from './metadata-columns.ts';
import { notificationsBlock } from './notifications.ts';
import { observabilityBlock } from './observability.ts';
import { paramsSchema } from './params.ts';
import { partitionBlock } from './partition.ts';
import { shardBlock } from './shard.ts';
import { pipelineSchema } from './pipeline.ts';
import { reconcileBlock } from './reconcile.ts';
import { resilienceSchema } from './resilience.ts';
import { scheduleBlock } from './schedule.ts';
import { rollbackBlock } from './rollback.ts';
import { selectionSchema } from './selection.ts';
import { slaBlock } from './sla.ts';
import { varsSchema } from './vars.ts';
import { verifyBlock } from './verify.ts';

function version() {
  return z.preprocess(
    (value) => (value === '1' ? 1 : value),
    z.number().superRefine((value, ctx) => {
      if (value === 1) return;
      const message = `version ${value} of the document format is not known here`;
      ctx.addIssue(finding('unknown_version', message, { hint: 'write `version: 1`' }));
    }),
  );
}

export const documentSchema = z.lazy(() =>
  z.strictObject({
    version: version().meta({ description: 'Version of the document format; must be 1.' }),
    kind: optional(z.literal('pipeline')).meta({
      description: 'Marks a whole pipeline document; may be left out.',
    }),
    name: optional(z.string().min(1)).meta({
      description:
        'Name of the pipeline in state keys, metrics and logs; the file name when absent.',
    }),
    extends: optional(z.union([text(), z.array(text())])).meta({
      description:
        'In files: documents to lie beneath this one, relative to it; of several the later ones count more.',
    }),
    profiles: optional(z.record(z.string(), z.record(z.string(), json()).nullable())).meta({
      description: 'In files: overlays by name, of which `--profile` applies one.',
    }),
    vars: optional(varsSchema).meta({ description: 'Values by name, for `${vars.<name>}`.' }),
    params: optional(paramsSchema).meta({
      description: 'Typed values that whoever starts a run supplies, for `${param.<name>}`.',
    }),
    auth: optional(authSchema).meta({ description: 'Logins by name, shared by connectors.' }),
    pipeline: pipelineSchema.meta({ description: 'What is moved, and how it is checked.' }),
    matrix: optional(matrixSchema).meta({
      description: 'Rows that each run the pipeline with something different.',
    }),
    execution: optional(executionSchema).meta({ description: 'How the rows are run.' }),
    selection: optional(selectionSchema).meta({ description: 'How the rows are selected.' }),
    delivery: deliveryField,
    resilience: optional(resilienceSchema).meta({ description: 'What is tried again.' }),
    sla: optional(slaBlock.schema).meta({ description: slaBlock.description }),
    partition: optional(partitionBlock.schema).meta({ description: partitionBlock.description }),
    shard: optional(shardBlock.schema).meta({ description: shardBlock.description }),
    backfill: optional(backfillBlock.schema).meta({ description: backfillBlock.description }),
    schedule: optional(scheduleBlock.schema).meta({ description: scheduleBlock.description }),
    reconcile: optional(reconcileBlock.schema).meta({ description: reconcileBlock.description }),
    rollback: optional(rollbackBlock.schema).meta({ description: rollbackBlock.description }),
    verify: optional(verifyBlock.schema).meta({ description: verifyBlock.description }),
    lineage: optional(lineageBlock.schema).meta({ description: lineageBlock.description }),
    catalog: optional(catalogBlock.schema).meta({ description: catalogBlock.description }),
    metadata_columns: optional(metadataColumnsBlock.schema).meta({
      description: metadataColumnsBlock.description,
    }),
    local_outputs: optional(localOutputsBlock.schema).meta({
      description: localOutputsBlock.description,
    }),
    observability: optional(observabilityBlock.schema).meta({
      description: observabilityBlock.description,
    }),
    notifications: optional(notificationsBlock.schema).meta({
      description: notificationsBlock.description,
    }),
  }),
);

export const documentBlock = defineBlock<z.infer<typeof documentSchema>>({
  name: 'document',
  placement: 'top',
  description: 'The whole document.',
  schema: documentSchema,
  examples: [
    {
      version: 1,
      name: 'orders',
      pipeline: {
        source: { type: 'csv', config: { path: 'orders.csv' } },
        sink: { type: 'jsonl', config: { path: 'orders.jsonl' } },
      },
    },
  ],
});
