/** Undoing one invocation of a run. */
import { z } from 'zod';

export const rollbackRequestSchema = z
  .strictObject({
    invocation_id: z.string().nullish().meta({
      description: 'One of the `invocations[].run_id` of the run; needed when it has several.',
    }),
    row: z
      .string()
      .nullish()
      .meta({ description: 'Row that the invocation wrote; every root is looked at when absent.' }),
    config: z.string().nullish().meta({
      description:
        'The document the run was made with; required, because a server keeps it only until the run has ended.',
    }),
    config_format: z
      .enum(['yaml', 'json'])
      .default('yaml')
      .meta({ description: 'Format of `config`.' }),
    dry_run: z.boolean().default(false).meta({ description: 'Only count what would be done.' }),
    force: z
      .boolean()
      .default(false)
      .meta({ description: 'Undo although a later run changed the same keys.' }),
  })
  .meta({ description: 'What to undo. May be left out where nothing has to be said.' });
export type RollbackRequest = z.infer<typeof rollbackRequestSchema>;

export const rollbackReportSchema = z
  .object({
    run_id: z.string().meta({ description: 'The invocation that was undone.' }),
    row: z.string(),
    sink_kind: z.string(),
    dataset: z.string().meta({ description: 'What it had written to.' }),
    mode: z.enum(['append', 'upsert', 'overwrite']).meta({
      description:
        'Records deleted by the id of their run, before-images restored, or the previous table put back.',
    }),
    dry_run: z.boolean(),
    applied: z.boolean().meta({ description: 'Whether the destination was changed.' }),
    blocked: z
      .boolean()
      .meta({ description: 'Conflicts stood in the way, and `force` was not set.' }),
    deleted: z.int().meta({ description: 'Rows of the run that are gone.' }),
    restored: z.int().meta({ description: 'Rows that are as they were before.' }),
    conflicts: z.int().meta({
      description:
        'Records that were changed after the run, or later runs that continue where it stopped.',
    }),
    bookmark_rewound: z
      .boolean()
      .meta({ description: 'Whether the next run reads again what was undone.' }),
    token_rewound: z
      .boolean()
      .meta({ description: 'Whether the watermark of exactly-once delivery was put back.' }),
    later_runs: z
      .array(z.string())
      .meta({ description: 'Invocations of the row since, oldest first.' }),
    note: z.string().nullable(),
  })
  .meta({ description: 'What undoing did, or would do.' });
export type RollbackReport = Readonly<z.infer<typeof rollbackReportSchema>>;
