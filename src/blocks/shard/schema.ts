import { z } from 'zod';
import { integer } from '../../kit/schema.ts';

export const shardSchema = z.lazy(() =>
  z.strictObject({
    count: integer({ min: 1, max: 1000 }).meta({
      description:
        'Into how many shards; never more ranges than there are values between the lowest and the highest.',
    }),
  }),
);
export type ShardSpec = z.infer<typeof shardSchema>;
