/** One of the parts in which the only row of a run is read, by whichever server is free. */
import { z } from 'zod';

export const shardSchema = z.strictObject({
  row: z.string(),
  /** Its place among the shards of the run. */
  index: z.int().nonnegative(),
  id: z.string(),
  /** From this value of the key on; null: from the beginning. */
  from: z.string().nullable(),
  /** To below this one; null: to the end. */
  to: z.string().nullable(),
  /** Records without a value belong to it. */
  nulls: z.boolean(),
  /**
   * Of so many shares of objects or files, this one by its index; then it is no range. A server that
   * does not know shares refuses it.
   */
  shares: z.int().positive().optional(),
});
export type Shard = Readonly<z.infer<typeof shardSchema>>;

export const shardCountsSchema = z.object({
  total: z.int(),
  completed: z.int(),
  failed: z.int(),
  cancelled: z.int(),
  running: z.int(),
  pending: z.int(),
});

export interface ShardProgress {
  readonly counts: z.infer<typeof shardCountsSchema>;
  /** By those that have ended. */
  readonly records_written: number;
}
