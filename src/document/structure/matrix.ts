import { z, type ZodType } from 'zod';
import { boolean, number, optional, text } from '../../kit/schema.ts';
import { LONGEST_NAME } from '../text/limits.ts';
import { defineStructure, type BlockGrammar } from '../block.ts';
import { fanOutBlock, fanOutSchema } from './fan-out.ts';
import { rowSinkSchema } from './sink.ts';
import { rowSourceSchemaOf } from './source.ts';
import { tagsField } from './tags.ts';
import { transformsField } from './transform.ts';

const moved = (blocks: readonly BlockGrammar[]) => ({
  id: optional(text().max(LONGEST_NAME)).meta({
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
  source: optional(rowSourceSchemaOf(blocks)).meta({
    description: 'The source preset, and what differs from it.',
  }),
  sink: optional(rowSinkSchema).meta({
    description: 'The sink preset, and what differs from it.',
  }),
  transforms: transformsField.meta({
    description: 'Transforms of this row, after those of the pipeline and the source.',
  }),
  inherit_transforms: optional(boolean()).meta({
    description: 'Whether the transforms above come first; true when absent.',
  }),
});

const selected = () => ({
  weight: optional(number({ min: 0 })).meta({
    description: 'With `execution.schedule: lpt` heavier rows start first.',
  }),
  tags: tagsField,
});

type OwnFields = z.ZodObject<ReturnType<typeof moved> & ReturnType<typeof selected>>;

/** What a row says; its blocks, which are not known here, by name. */
export type RowSpec = z.output<OwnFields> & { readonly [block: string]: unknown };

/** A row may have some of the blocks of the document for itself. */
export function rowSchemaOf(blocks: readonly BlockGrammar[]): ZodType<RowSpec> {
  return z.lazy(() => z.strictObject({ ...moved(blocks), ...ownBlocks(blocks), ...selected() }));
}

function ownBlocks(blocks: readonly BlockGrammar[]): Record<string, ZodType> {
  const fields = blocks.flatMap(({ name, schema, inRows }): [string, ZodType][] => {
    if (inRows === undefined) return [];
    const { description, nullable } = inRows;
    const field = nullable ? schema.nullable().optional() : optional(schema);
    return [[name, field.meta({ description })]];
  });
  return Object.fromEntries(fields);
}

export const matrixBlock = (row: ZodType<RowSpec>) =>
  defineStructure<RowSpec[]>({
    name: 'matrix',
    placement: 'top',
    description:
      'Rows that each run the pipeline with something different; rows may feed and wait for each other.',
    schema: z.lazy(() => z.array(row)),
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
