/** What a comparison of source and destination is asked for and gives. */
import { z } from 'zod';

export const verifyRequestSchema = z
  .strictObject({
    config: z.string().meta({ description: 'The pipeline document, YAML or JSON text.' }),
    config_format: z
      .enum(['yaml', 'json'])
      .default('yaml')
      .meta({ description: 'Format of `config`.' }),
    row: z
      .string()
      .min(1)
      .nullish()
      .meta({ description: 'Id of the row; the first one without a parent when absent.' }),
    repair: z.boolean().default(false).meta({
      description:
        'Write rows that are missing or changed again, as upserts through the sink of the row.',
    }),
    allow_delete: z
      .boolean()
      .default(false)
      .meta({ description: 'Let a repair delete records that only the destination has.' }),
    dry_run: z
      .boolean()
      .default(false)
      .meta({ description: 'Count what a repair would do, and write nothing.' }),
    max_differences: z
      .number()
      .int()
      .min(1)
      .nullish()
      .meta({ description: 'Overrides `verify.max_differences` of the document.' }),
  })
  .meta({ description: 'Compare the destination of one row with its source.' });
export type VerifyRequest = z.infer<typeof verifyRequestSchema>;

/** How a comparison is made, whoever asks. */
export interface VerifyTask {
  readonly row: string | undefined;
  readonly repair: boolean;
  readonly allowDelete: boolean;
  readonly dryRun: boolean;
  readonly maxDifferences: number | undefined;
}

export const DIFFERENCE_KINDS = [
  'missing_in_dest',
  'extra_in_dest',
  'changed',
  'duplicate',
] as const;

export const differenceSchema = z
  .object({
    key: z
      .record(z.string(), z.unknown())
      .meta({ description: 'The key fields and their values.' }),
    kind: z.enum(DIFFERENCE_KINDS).meta({
      description: '`duplicate`: one side has the key more than once, so nothing is compared.',
    }),
    columns: z
      .array(z.string())
      .optional()
      .meta({ description: 'Of `changed`: the fields that differ.' }),
    side: z
      .enum(['source', 'destination'])
      .optional()
      .meta({ description: 'Of `duplicate`: who has the key more than once.' }),
    count: z.number().int().optional().meta({ description: 'Of `duplicate`: how often.' }),
  })
  .meta({ description: 'One key that differs.' });
export type Difference = Readonly<z.infer<typeof differenceSchema>>;

export const verifyReportSchema = z
  .object({
    row: z.string().meta({ description: 'Id of the row.' }),
    source: z.string().meta({ description: 'Kind of its source.' }),
    destination: z.string().meta({ description: 'Kind of its sink.' }),
    key: z.array(z.string()).meta({ description: 'The fields by which records were matched.' }),
    strategy: z.enum(['range', 'full']).meta({
      description: '`range`: digests of key ranges first; `full`: one pass over both sides.',
    }),
    dry_run: z.boolean().meta({ description: 'Nothing was written.' }),
    ranges_compared: z
      .number()
      .int()
      .meta({ description: 'Ranges whose digests were compared, those inside of others too.' }),
    ranges_differing: z.number().int().meta({ description: 'Those of them that were not equal.' }),
    server_digests: z
      .boolean()
      .meta({ description: 'The digests were computed inside the stores.' }),
    rows_fetched_source: z
      .number()
      .int()
      .meta({ description: 'Records that came from the source.' }),
    rows_fetched_dest: z
      .number()
      .int()
      .meta({ description: 'Records that came from the destination.' }),
    differences: z.array(differenceSchema),
    truncated: z.boolean().meta({
      description: 'There may be more: `max_differences` or `max_rows_scanned` was reached.',
    }),
    held_back: z.number().int().optional().meta({
      description:
        'Records that are not at the destination because they wait in the dead-letter queue of the row, as they are now; they are no differences. Absent when there are none.',
    }),
    repaired_upserts: z
      .number()
      .int()
      .optional()
      .meta({ description: 'Records a repair wrote, or with `dry_run` would write.' }),
    repaired_deletes: z
      .number()
      .int()
      .optional()
      .meta({ description: 'Records a repair deleted, or with `dry_run` would delete.' }),
  })
  .meta({ description: 'What a comparison found. A difference is a result, not an error.' });
export type VerifyReport = Readonly<z.infer<typeof verifyReportSchema>>;
