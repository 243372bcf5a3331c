import { z } from 'zod';
import { optional, text } from '../../kit/schema.ts';
import { defineBlock } from '../block.ts';
import { contractBlock } from './contract.ts';
import { dlqSchema } from './dlq.ts';
import { maskingBlock } from './masking.ts';
import { qualityBlock } from './quality.ts';
import { schemaDriftBlock } from './schema-drift.ts';
import { sinkSchema } from './sink.ts';
import { sourceSchema } from './source.ts';
import { stateSchema } from './state.ts';
import { edgesBlock, nodesBlock } from './topology.ts';
import { transformsField } from './transform.ts';

export const pipelineSchema = z.lazy(() =>
  z.strictObject({
    source: optional(sourceSchema).meta({
      description: 'The source; as a template its name is `default`.',
    }),
    sources: optional(z.record(text(), sourceSchema)).meta({
      description: 'Source templates by name.',
    }),
    sink: optional(sinkSchema).meta({
      description: 'The sink; as a template its name is `default`.',
    }),
    sinks: optional(z.record(text(), sinkSchema)).meta({ description: 'Sink templates by name.' }),
    transforms: transformsField.meta({ description: 'Transforms of every record, in order.' }),
    state: optional(stateSchema).meta({ description: 'Where bookmarks are kept between runs.' }),
    dlq: optional(dlqSchema).meta({ description: 'Takes the records that cannot be written.' }),
    quality: optional(qualityBlock.schema).meta({ description: qualityBlock.description }),
    contract: optional(contractBlock.schema).meta({ description: contractBlock.description }),
    masking: optional(maskingBlock.schema).meta({ description: maskingBlock.description }),
    schema: optional(schemaDriftBlock.schema).meta({ description: schemaDriftBlock.description }),
    nodes: optional(nodesBlock.schema).meta({ description: nodesBlock.description }),
    edges: optional(edgesBlock.schema).meta({ description: edgesBlock.description }),
  }),
);

export const pipelineBlock = defineBlock<z.infer<typeof pipelineSchema>>({
  name: 'pipeline',
  placement: 'top',
  description:
    'Source, transforms and sink, with everything that looks at the records between them.',
  schema: pipelineSchema,
  examples: [
    {
      source: { type: 'csv', config: { path: 'orders.csv' } },
      transforms: [{ type: 'select', config: { fields: ['id', 'amount'] } }],
      sink: { type: 'jsonl', config: { path: 'orders.jsonl' } },
      state: { type: 'file', config: { path: '.state' } },
    },
  ],
});
