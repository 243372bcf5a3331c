import { z } from 'zod';
import { finding, number, optional, text } from '../../kit/schema.ts';
import { defineBlock } from '../block.ts';
import { nullAsAbsent } from './null-as-absent.ts';
import { configField } from './transform.ts';

const countSchema = z.lazy(() =>
  z.strictObject({
    type: text().meta({ description: 'Name of the source connector.' }),
    config: configField,
    count_field: optional(text()).meta({
      description: 'Field of the first record that holds the count; its first number when absent.',
    }),
  }),
);

export const reconcileSchema = z.lazy(() =>
  z.strictObject({
    count: countSchema.meta({
      description: 'A source whose first record says how many records there should be.',
    }),
    tolerance_pct: nullAsAbsent(
      number({ min: 0 })
        .default(0)
        .superRefine((value, ctx) => {
          if (value >= 100)
            ctx.addIssue(finding('out_of_range', `must be less than 100, got ${value}`));
        }),
    ).meta({ description: 'By how much, in percent, fewer records may be written.' }),
  }),
);
export type ReconcileSpec = z.infer<typeof reconcileSchema>;

export const reconcileBlock = defineBlock<ReconcileSpec>({
  name: 'reconcile',
  placement: 'top',
  description:
    'Counts at an authority after the records are written; a row that wrote too few fails. Rows that run once for each parent record, tuple or chunk are not counted.',
  schema: reconcileSchema,
  examples: [
    {
      count: {
        type: 'sqlite',
        config: { database_url: 'sqlite:shop.db', query: 'SELECT count(*) AS n FROM orders' },
      },
      tolerance_pct: 1,
    },
  ],
});
