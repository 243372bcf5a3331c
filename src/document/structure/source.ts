import { z, type ZodType } from 'zod';
import { boolean, optional, text } from '../../kit/schema.ts';
import { defineStructure, type BlockGrammar } from '../block.ts';
import { fieldsOf } from './block-fields.ts';
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

const ownFields = () => ({
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
});

type OwnFields = z.ZodObject<ReturnType<typeof ownFields>>;

/** What a preset says; its blocks, which are not known here, by name. */
export type SourceSpec = z.output<OwnFields> & { readonly [block: string]: unknown };

export function sourceSchemaOf(blocks: readonly BlockGrammar[]): ZodType<SourceSpec> {
  return z.lazy(() => z.strictObject({ ...ownFields(), ...fieldsOf(blocks, 'source') }));
}

export const sourceBlock = (schema: ZodType<SourceSpec>) =>
  defineStructure<SourceSpec>({
    name: 'source',
    placement: 'pipeline',
    description:
      'Where records come from: the source of the pipeline, or a preset that matrix rows name with `ref`.',
    schema,
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

export type RowSourceSpec = z.output<typeof rowSourceSchema> & {
  readonly [block: string]: unknown;
};

/** The same with the blocks that a row may have for its source. */
export function rowSourceSchemaOf(blocks: readonly BlockGrammar[]): ZodType<RowSourceSpec> {
  return rowSourceSchema.unwrap().extend(fieldsOf(blocks, 'source'));
}
