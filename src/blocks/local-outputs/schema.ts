import { z } from 'zod';
import { boolean, integer, optional, nullAsAbsent } from '../../kit/schema.ts';

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
