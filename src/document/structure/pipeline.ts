import { z, type ZodType } from 'zod';
import { optional, text } from '../../kit/schema.ts';
import { defineStructure, type BlockGrammar } from '../block.ts';
import { fieldsOf } from './block-fields.ts';
import { sinkSchema } from './sink.ts';
import type { SourceSpec } from './source.ts';
import { edgesBlock, nodesBlock } from './topology.ts';
import { transformsField } from './transform.ts';

export type PipelineSchema = ReturnType<typeof pipelineSchemaOf>;

export function pipelineSchemaOf(
  blocks: readonly BlockGrammar[],
  { source }: { readonly source: ZodType<SourceSpec> },
) {
  return z.lazy(() =>
    z.strictObject({
      source: optional(source).meta({
        description: 'The source; as a preset its name is `default`.',
      }),
      sources: optional(z.record(text(), source)).meta({
        description: 'Source presets by name.',
      }),
      sink: optional(sinkSchema).meta({
        description: 'The sink; as a preset its name is `default`.',
      }),
      sinks: optional(z.record(text(), sinkSchema)).meta({
        description: 'Sink presets by name.',
      }),
      transforms: transformsField.meta({ description: 'Transforms of every record, in order.' }),
      ...fieldsOf(blocks, 'pipeline'),
      ...fieldsOf([nodesBlock, edgesBlock], 'pipeline'),
    }),
  );
}

export const pipelineBlock = (schema: PipelineSchema) =>
  defineStructure({
    name: 'pipeline',
    placement: 'top',
    description:
      'Source, transforms and sink, with everything that looks at the records between them.',
    schema,
    examples: [
      {
        source: { type: 'csv', config: { path: 'orders.csv' } },
        transforms: [{ type: 'select', config: { fields: ['id', 'amount'] } }],
        sink: { type: 'jsonl', config: { path: 'orders.jsonl' } },
        state: { type: 'file', config: { path: '.state' } },
      },
    ],
  });
