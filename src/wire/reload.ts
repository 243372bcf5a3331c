/** What reading the settings files again came to. */
import { z } from 'zod';

export const reloadReportSchema = z
  .object({
    reloaded: z.boolean().meta({
      description: 'Whether there is a default document, which was read again.',
    }),
    path: z.string().optional().meta({ description: 'Of the default document.' }),
    reason: z.string().optional().meta({ description: 'Why no default document was read.' }),
    auth: z
      .object({ reloaded: z.literal(true), path: z.string() })
      .optional()
      .meta({ description: 'The file of principals, where the server was started with one.' }),
    triggers: z
      .object({ reloaded: z.literal(true), path: z.string() })
      .optional()
      .meta({ description: 'The file of triggers, where the server was started with one.' }),
    schedules: z
      .object({ reloaded: z.literal(true), path: z.string() })
      .optional()
      .meta({ description: 'The folder of schedules, where the server was started with one.' }),
  })
  .meta({ description: 'Which files were read again.' });
export type ReloadReport = Readonly<z.infer<typeof reloadReportSchema>>;
