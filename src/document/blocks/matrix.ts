import { z } from 'zod';
import { boolean, number, optional, text } from '../../kit/schema.ts';
import { defineBlock } from '../block.ts';
import { deliveryField } from './delivery.ts';
import { dlqSchema } from './dlq.ts';
import { fanOutBlock, fanOutSchema } from './fan-out.ts';
import { partitionSchema } from './partition.ts';
import { rowSinkSchema } from './sink.ts';
import { completeForField, rowSourceSchema } from './source.ts';
import { slaSchema } from './sla.ts';
import { stateSchema } from './state.ts';
import { tagsField } from './tags.ts';
import { transformsField } from './transform.ts';

export const rowSchema = z.lazy(() =>
  z.strictObject({
    id: optional(text()).meta({
      description: 'Name of the row; `row-<index>` when absent. Part of its state key.',
    }),
    parent: optional(text()).meta({
      description: 'Row whose records this one runs for, once each.',
    }),
    parent_key: optional(z.string()).meta({
      description:
        'Dotted path of the value in the parent record that names the invocation; `id` when absent, empty for the whole record.',
    }),
    depends_on: optional(z.array(text())).meta({
      description: 'Rows that must have finished before this one starts.',
    }),
    fan_out: optional(fanOutSchema).meta({ description: fanOutBlock.description }),
    discover: optional(fanOutSchema).meta({
      description: 'Former name of `fan_out`.',
      deprecated: true,
    }),
    for_each: optional(z.array(text())).meta({
      description:
        'Fan-out rows; the row runs once for each combination of their values, the last one changing fastest.',
    }),
    collect: optional(boolean()).meta({
      description:
        'In a fan-out row with `for_each`: its values are one text, joined by commas, for each combination.',
    }),
    source: optional(rowSourceSchema.unwrap().extend({ complete_for: completeForField })).meta({
      description: 'The source template, and what differs from it.',
    }),
    sink: optional(rowSinkSchema).meta({
      description: 'The sink template, and what differs from it.',
    }),
    transforms: transformsField.meta({
      description: 'Transforms of this row, after those of the pipeline and the source.',
    }),
    inherit_transforms: optional(boolean()).meta({
      description: 'Whether the transforms above come first; true when absent.',
    }),
    state: stateSchema
      .nullable()
      .optional()
      .meta({ description: 'Replaces the state store of the pipeline; null means none.' }),
    dlq: dlqSchema
      .nullable()
      .optional()
      .meta({ description: 'Replaces the dead-letter queue of the pipeline; null means none.' }),
    sla: slaSchema
      .nullable()
      .optional()
      .meta({ description: 'Replaces the service-level checks of the document; null means none.' }),
    delivery: deliveryField,
    partition: partitionSchema
      .nullable()
      .optional()
      .meta({ description: 'Replaces the `partition` of the document; null means none.' }),
    weight: optional(number({ min: 0 })).meta({
      description: 'With `execution.schedule: lpt` heavier rows start first.',
    }),
    tags: tagsField,
  }),
);
export type RowSpec = z.infer<typeof rowSchema>;

export const matrixSchema = z.lazy(() => z.array(rowSchema));

export const matrixBlock = defineBlock<RowSpec[]>({
  name: 'matrix',
  placement: 'top',
  description:
    'Rows that each run the pipeline with something different; rows may feed and wait for each other.',
  schema: matrixSchema,
  examples: [
    [
      {
        id: 'users',
        source: { config: { path: 'users.csv' } },
        sink: { config: { path: 'users.jsonl' } },
      },
      {
        id: 'orders',
        source: { ref: 'orders' },
        depends_on: ['users'],
        tags: ['nightly'],
        dlq: null,
      },
    ],
    [
      {
        id: 'regions',
        fan_out: {
          source: { type: 'csv', config: { path: 'regions.csv' } },
          select: '$.code',
          as: 'code',
        },
      },
      {
        id: 'sales',
        for_each: ['regions'],
        source: { config: { path: 'sales-${regions.code}.csv' } },
        sink: { config: { path: 'sales-${regions.code}.jsonl' } },
      },
    ],
  ],
});
