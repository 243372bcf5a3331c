/** Backfills as the HTTP API shows them. */
import { z } from 'zod';
import { submissionSchema } from './run.ts';

export const backfillRequestSchema = z
  .strictObject({
    config: z.string().meta({
      description: 'The pipeline document; every source that reads by itself names its window.',
    }),
    config_format: z
      .enum(['yaml', 'json'])
      .default('yaml')
      .meta({ description: 'Format of `config`.' }),
    from: z.string().meta({
      description: 'Where the range begins: RFC 3339, or a date for its midnight in `timezone`.',
    }),
    to: z.string().meta({ description: 'Where it ends; not part of it.' }),
    window: z.string().nullish().meta({
      description:
        'What one unit covers: `45s`, `30m`, `6h`, `1d`, `1w`; absent means that of the document, or the whole range.',
    }),
    timezone: z
      .string()
      .nullish()
      .meta({ description: 'IANA name; absent means that of the document, or UTC.' }),
    name: z
      .string()
      .min(1)
      .max(200)
      .nullish()
      .meta({ description: 'Name of what is run again; the unit is put behind it.' }),
    labels: z
      .record(z.string(), z.string())
      .nullish()
      .meta({ description: 'Metadata stored on every run.' }),
    timeout_secs: z.int().positive().nullish().meta({ description: 'Wall-clock cap of each run.' }),
    priority: submissionSchema.shape.priority,
    callback: z
      .unknown()
      .optional()
      .meta({ description: 'Always refused: there is one run for each window.' }),
  })
  .meta({ description: 'A range of the past to be run again.' });
export type BackfillRequest = z.infer<typeof backfillRequestSchema>;

export const backfillUnitSchema = z.object({
  unit: z.string().meta({ description: 'Start of the window in UTC, as `YYYYMMDDTHHMMSSZ`.' }),
  start: z.string().meta({ description: 'RFC 3339, in the time zone of the backfill.' }),
  end: z.string().meta({ description: 'Where the next unit begins.' }),
  status: z.enum(['submitted', 'not_submitted']),
  run_id: z
    .string()
    .optional()
    .meta({ description: 'The run of the unit, also when an earlier request submitted it.' }),
  error: z.string().optional().meta({ description: 'Why it was not submitted.' }),
});
export type BackfillUnitReceipt = z.infer<typeof backfillUnitSchema>;

export const backfillReceiptSchema = z
  .object({
    backfill: z
      .string()
      .meta({ description: 'Hash of the descriptor; the label `backfill` of every run.' }),
    descriptor: z.string().meta({ description: '`time|from|to|window|name`.' }),
    planned: z.int(),
    submitted: z.int(),
    units: z.array(backfillUnitSchema),
  })
  .meta({ description: 'What was submitted of a backfill.' });
export type BackfillReceipt = z.infer<typeof backfillReceiptSchema>;
