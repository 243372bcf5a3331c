import { z } from 'zod';
import { isObject } from '../../lib/text/json.ts';
import { finding, number, optional, text, nullAsAbsent } from '../../kit/schema.ts';
import { configField } from '../../document/structure/transform.ts';

const countSchema = z.lazy(() =>
  z.strictObject({
    type: text().meta({ description: 'Name of the source connector.' }),
    config: configField,
    count_field: optional(text()).meta({
      description:
        'Field of the first record that holds the count; its first number when absent. May also stand beside `count`.',
    }),
  }),
);

const spec = () =>
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
  });

/** Where it is written in both places, the one that does not belong there is reported. */
function withFieldInCount(value: unknown): unknown {
  if (!isObject(value) || !isObject(value['count'])) return value;
  const { count_field: field, count, ...rest } = value;
  if (field === undefined || 'count_field' in count) return value;
  return { ...rest, count: { ...count, count_field: field } };
}

export const reconcileSchema = z.lazy(() => z.preprocess(withFieldInCount, spec()));
export type ReconcileSpec = z.infer<typeof reconcileSchema>;
