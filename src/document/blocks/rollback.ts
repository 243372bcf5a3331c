import { z } from 'zod';
import { boolean, integer } from '../../kit/schema.ts';
import { defineBlock } from '../block.ts';
import { nullAsAbsent } from './null-as-absent.ts';

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

export const rollbackBlock = defineBlock<RollbackConfig>({
  name: 'rollback',
  placement: 'top',
  description:
    'Makes runs undoable with `headgate rollback`: every row that is written carries the id of its run, and what it replaces is kept. ' +
    'Needs a durable `state` and a sink that takes part. Rows that run several times (for each parent record, tuple or chunk) are only marked.',
  schema: rollbackSchema,
  examples: [{}, { retain: 30 }, { journal: false, keep_previous: false }],
});
