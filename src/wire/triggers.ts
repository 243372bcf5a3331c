/** Triggers as the HTTP API shows them. */
import { z } from 'zod';

const time = z.string().nullable().meta({
  format: 'date-time',
  description: 'RFC 3339, UTC; null while there was none since the start of the server.',
});

/** As `/readyz` shows it, which is open to all. */
export const triggerHealthSchema = z.object({
  name: z.string(),
  type: z.string(),
  healthy: z.boolean().meta({ description: 'False after three failures in a row.' }),
  consecutive_failures: z.int(),
  last_fire: time,
  last_error: z.string().nullable(),
});
export type TriggerHealth = Readonly<z.infer<typeof triggerHealthSchema>>;

export const triggerListSchema = z.object({
  triggers: z
    .array(
      triggerHealthSchema.extend({
        enabled: z.boolean(),
        starts: z.string().meta({ description: 'When it starts a run.' }),
        last_run_id: z.string().nullable().meta({ description: 'Of its last event.' }),
      }),
    )
    .meta({ description: 'By name.' }),
});
export type TriggerListing = Readonly<z.infer<typeof triggerListSchema>['triggers'][number]>;

export const coalescedSchema = z.object({ status: z.literal('coalesced') });
