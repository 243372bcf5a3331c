import { z } from 'zod';
import { finding, json, text } from '../../kit/schema.ts';

export const completeForSchema = z.lazy(() =>
  z.strictObject({
    scope: z
      .record(text(), json())
      .superRefine((columns, ctx) => {
        for (const [name, value] of Object.entries(columns)) {
          if (typeof value !== 'object' || value === null) continue;
          ctx.addIssue(
            finding('wrong_type', 'a column is compared with a single value', { path: [name] }),
          );
        }
        if (Object.keys(columns).length > 0) return;
        const hint =
          'name a column of the destination, and the value that the records of this source have there';
        ctx.addIssue(
          finding('out_of_range', 'must not be empty: everything in the table could be removed', {
            hint,
          }),
        );
      })
      .meta({
        description:
          'Columns of the destination, each with the value that every record of this source has there. May hold `${now.*}` and tokens of the parent record.',
        examples: [{ region: 'eu' }],
      }),
    on_missing: z.enum(['ignore', 'delete']).default('ignore').meta({
      description:
        '`delete` removes records of the destination inside the scope that a complete, successful run did not see; it needs `write_mode: upsert`. Not after a run that was limited, tried or cancelled, or that went on after a bookmark. At most 100,000 keys are kept in mind; beyond that the run fails and removes nothing.',
    }),
  }),
);
export type CompleteFor = z.output<typeof completeForSchema>;
