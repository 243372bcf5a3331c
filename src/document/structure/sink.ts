import { z } from 'zod';
import { optional, text } from '../../kit/schema.ts';
import { defineStructure } from '../block.ts';
import { configField } from './transform.ts';

export const sinkSchema = z.lazy(() =>
  z.strictObject({
    type: text().meta({
      description: 'Name of the sink connector.',
      examples: ['jsonl', 'postgres'],
    }),
    config: configField,
  }),
);
export type SinkSpec = z.infer<typeof sinkSchema>;

export const sinkBlock = defineStructure<SinkSpec>({
  name: 'sink',
  placement: 'pipeline',
  description:
    'Where records go: the sink of the pipeline, or a preset that matrix rows name with `ref`.',
  schema: sinkSchema,
  examples: [{ type: 'jsonl', config: { path: 'orders.jsonl' } }, { type: 'stdout' }],
});

/** What a matrix row says about its sink. */
export const rowSinkSchema = z.lazy(() =>
  z.strictObject({
    ref: optional(text()).meta({
      description: 'Preset under `pipeline.sinks`; `default` when absent.',
    }),
    type: optional(text()).meta({ description: 'Replaces the type of the preset.' }),
    config: configField,
  }),
);
