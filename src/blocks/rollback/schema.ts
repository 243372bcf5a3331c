import { z } from 'zod';
import { boolean, integer, nullAsAbsent } from '../../kit/schema.ts';

export const rollbackSchema = z.lazy(() =>
  z.strictObject({
    enabled: nullAsAbsent(boolean().default(true)).meta({
      description: 'Whether runs can be undone.',
    }),
    journal: nullAsAbsent(boolean().default(true)).meta({
      description:
        'Keep every row as it was before an upsert, a deletion or a clean-up changed it, in the table `_svc_run_journal`.',
    }),
    keep_previous: nullAsAbsent(boolean().default(true)).meta({
      description: 'Keep the rows that an overwrite replaces, in the table `<table>__svc_prev`.',
    }),
    retain: nullAsAbsent(integer({ min: 1 }).default(10)).meta({
      description: 'Runs of a row that can be undone; older ones are forgotten.',
    }),
  }),
);
export type RollbackConfig = z.infer<typeof rollbackSchema>;
