import { z } from 'zod';
import { nullAsAbsent } from '../../kit/schema.ts';

export const INCLUDE_PARENTS = ['off', 'eligible', 'all'] as const;
export type IncludeParents = (typeof INCLUDE_PARENTS)[number];

export const selectionSchema = z.lazy(() =>
  z.strictObject({
    include_parents: nullAsAbsent(z.enum(INCLUDE_PARENTS).default('off')).meta({
      description:
        'What happens when a selected row needs one that is not: an error, or it is added when its status allows, or always.',
    }),
  }),
);
export type SelectionSpec = z.infer<typeof selectionSchema>;
