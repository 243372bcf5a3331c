import { z } from 'zod';
import { boolean, integer, optional } from '../../kit/schema.ts';
import { defineBlock } from '../block.ts';
import { nullAsAbsent } from './null-as-absent.ts';

export const localOutputsSchema = z.lazy(() =>
  z.strictObject({
    retention_days: optional(integer({ min: 0 })).meta({
      description:
        'Days after its last write after which a file may be collected; 0 keeps it for ever. The setting of the server when absent.',
    }),
    track: nullAsAbsent(boolean().default(true)).meta({
      description:
        'Whether the files are recorded at all; what is not recorded is never collected.',
    }),
  }),
);
export type LocalOutputsConfig = z.infer<typeof localOutputsSchema>;

export const localOutputsBlock = defineBlock<LocalOutputsConfig>({
  name: 'local_outputs',
  placement: 'top',
  description:
    'How long the files that sinks write on this machine are kept. Files that were there before are never collected.',
  schema: localOutputsSchema,
  examples: [{ retention_days: 30 }, { track: false }],
});
