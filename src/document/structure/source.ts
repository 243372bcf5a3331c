import { z } from 'zod';
import { boolean, optional, text } from '../../kit/schema.ts';
import { defineStructure } from '../block.ts';
import { completeForSchema } from './complete-for.ts';
import { tagsField } from './tags.ts';
import { configField, transformsField } from './transform.ts';

export const ROW_STATUSES = ['mandatory', 'active', 'available', 'draft', 'archived'] as const;
export type RowStatus = (typeof ROW_STATUSES)[number];

export const statusField = z.lazy(() =>
  optional(z.enum(ROW_STATUSES)).meta({
    description:
      'Whether rows that read this source run by default: only `mandatory` and `active` ones do.',
  }),
);

export const completeForField = z.lazy(() =>
  optional(completeForSchema).meta({
    description:
      'What a read of this source is complete for, and what becomes of rows that it no longer has.',
  }),
);

export const sourceSchema = z.lazy(() =>
  z.strictObject({
    type: text().meta({
      description: 'Name of the source connector.',
      examples: ['csv', 'postgres'],
    }),
    config: configField,
    transforms: transformsField.meta({
      description: 'Transforms of every row that reads this source, after those of the pipeline.',
    }),
    inherit_transforms: optional(boolean()).meta({
      description: 'Whether the transforms of the pipeline come first; true when absent.',
    }),
    status: statusField,
    tags: tagsField,
    complete_for: completeForField,
  }),
);
export type SourceSpec = z.infer<typeof sourceSchema>;

export const sourceBlock = defineStructure<SourceSpec>({
  name: 'source',
  placement: 'pipeline',
  description:
    'Where records come from: the source of the pipeline, or a preset that matrix rows name with `ref`.',
  schema: sourceSchema,
  examples: [{ type: 'csv', config: { path: 'orders.csv' } }],
});

/** What a matrix row says about its source: a preset to start from, and what differs. */
export const rowSourceSchema = z.lazy(() =>
  z.strictObject({
    ref: optional(text()).meta({
      description: 'Preset under `pipeline.sources`; `default` when absent.',
    }),
    type: optional(text()).meta({ description: 'Replaces the type of the preset.' }),
    config: configField,
    status: statusField,
  }),
);
