/**
 * The ledger of files that sinks wrote on the machine of the server.
 */
import { z } from 'zod';
import type { JsonValue } from '../lib/text/json.ts';

const time = z.string().meta({ format: 'date-time', description: 'RFC 3339, UTC.' });

export const OUTPUT_STATES = ['present', 'expired', 'external', 'replaced'] as const;
export type OutputState = (typeof OUTPUT_STATES)[number];

export const outputSchema = z
  .object({
    id: z.string().meta({ description: 'The first 16 hex digits of the SHA-256 of the path.' }),
    path: z.string().meta({ description: 'Absolute.' }),
    dataset_uri: z.string().meta({ description: 'Address of the data set it belongs to.' }),
    dataset_id: z.string().meta({ description: 'Id of that data set in the catalog.' }),
    kind: z.string().meta({ description: 'Kind of the sink that wrote it.' }),
    pipeline: z.string(),
    row: z.string(),
    run_id: z.string().meta({ description: 'The run that wrote it last.' }),
    pre_existing: z.boolean().meta({ description: 'It was there before the first write.' }),
    retention_days: z
      .int()
      .optional()
      .meta({ description: 'As its document says; absent when it does not.' }),
    retention_days_effective: z.int().nullable().meta({
      description: 'Days after its last write after which it may be collected; null: never.',
    }),
    expires_at: time
      .nullable()
      .meta({ description: 'RFC 3339, UTC: from when on it may be collected; null: never.' }),
    first_written_at: time,
    last_written_at: time,
    deleted_at: time.optional(),
    deleted_bytes: z.int().optional(),
    state: z.enum(OUTPUT_STATES).meta({
      description:
        '`present`; `expired`: collected; `external`: somebody else’s file that was appended to; `replaced`: one that was truncated.',
    }),
    age_secs: z.int().meta({ description: 'Since the last write.' }),
  })
  .meta({ description: 'One file that a sink wrote.' });
export type OutputRecord = Readonly<z.infer<typeof outputSchema>>;

export const outputListSchema = z.object({
  outputs: z.array(outputSchema).meta({ description: 'Newest write first.' }),
  retention_days: z.int().meta({ description: 'Of the server; 0 keeps files for ever.' }),
  gc_enabled: z
    .boolean()
    .meta({ description: 'Whether expired files are collected by themselves.' }),
  can_manage: z.boolean().meta({ description: 'Whether the caller may delete.' }),
  preview_enabled: z.boolean().meta({ description: 'Whether records may be previewed.' }),
  preview_default_rows: z.int().nullable().meta({ description: 'Rows of a preview; null: all.' }),
  preview_max_rows: z
    .int()
    .nullable()
    .meta({ description: 'Most records in a preview; null: no limit.' }),
});

export const SKIP_REASONS = [
  'pre_existing',
  'in_flight',
  'not_on_disk',
  'already_deleted',
  'delete_failed',
] as const;
export type SkipReason = (typeof SKIP_REASONS)[number];

export const SWEEP_SCOPES = ['output', 'dataset', 'run', 'older_than', 'expired', 'all'] as const;
export type SweepScope = (typeof SWEEP_SCOPES)[number];

export const sweepReportSchema = z
  .object({
    dry_run: z.boolean(),
    scope: z.enum(SWEEP_SCOPES),
    deleted: z.int().meta({ description: 'Files that are gone, or with `dry_run` would be.' }),
    bytes: z.int().meta({ description: 'What they took.' }),
    skipped: z
      .enum(SKIP_REASONS)
      .optional()
      .meta({ description: 'Of a single file: why it stays.' }),
    skipped_count: z.int().meta({ description: 'Files that stay.' }),
    outputs: z.array(
      z.object({
        id: z.string(),
        path: z.string(),
        dataset_uri: z.string(),
        deleted: z.boolean(),
        bytes: z.int(),
        skipped: z.enum(SKIP_REASONS).optional(),
        error: z.string().optional().meta({ description: 'Of `delete_failed`.' }),
      }),
    ),
  })
  .meta({ description: 'What became of the files.' });
export type SweepReport = Readonly<z.infer<typeof sweepReportSchema>>;
export type SweptOutput = SweepReport['outputs'][number];

const SCOPE_KEYS = ['older_than_days', 'expired', 'dataset_id', 'run_id', 'all'] as const;

export const cleanupRequestSchema = z
  .strictObject({
    older_than_days: z.int().min(0).optional().meta({
      description: 'Files whose last write is this long ago, whatever their documents say.',
    }),
    expired: z.boolean().optional().meta({ description: 'Files whose retention is over.' }),
    dataset_id: z.string().min(1).optional().meta({ description: 'Files of a data set.' }),
    run_id: z.string().min(1).optional().meta({ description: 'Files that this run wrote last.' }),
    all: z.boolean().optional().meta({ description: 'Every file of the ledger.' }),
    dry_run: z
      .boolean()
      .default(false)
      .meta({ description: 'Tell what would go, and delete nothing.' }),
    confirm: z
      .boolean()
      .default(false)
      .meta({ description: 'Must be true for `all`, and for `older_than_days: 0`.' }),
  })
  .superRefine((body, ctx) => {
    const named = SCOPE_KEYS.filter((key) => body[key] !== undefined && body[key] !== false);
    if (named.length !== 1) {
      const isNone = named.length === 0;
      const message = isNone
        ? 'no scope is named'
        : `several scopes are named: ${named.join(', ')}`;
      const hint = `give exactly one of ${SCOPE_KEYS.join(', ')}`;
      ctx.addIssue({
        code: 'custom',
        message,
        params: { code: isNone ? 'missing_key' : 'conflicting_keys', hint },
      });
      return;
    }
    if ((body.all === true || body.older_than_days === 0) && !body.dry_run && !body.confirm) {
      const message = 'this deletes every file of the ledger';
      ctx.addIssue({
        code: 'custom',
        path: ['confirm'],
        message,
        params: { code: 'unconfirmed', hint: 'say so with `confirm: true`' },
      });
    }
  })
  .meta({ description: 'Which files to delete.' });
export type CleanupRequest = Readonly<z.infer<typeof cleanupRequestSchema>>;

const anyJson = z.unknown() as z.ZodType<JsonValue>;

export const previewSchema = z
  .object({
    output_id: z.string(),
    path: z.string(),
    kind: z.string(),
    dataset_id: z.string(),
    pipeline: z.string(),
    run_id: z.string(),
    rows: z.array(anyJson).meta({ description: 'Records as they stand in the file.' }),
    columns: z.array(z.string()).meta({
      description:
        'Fields of all records, in order of appearance; empty when the records are not objects.',
    }),
    row_count: z.int(),
    row_limit: z.int().nullable().meta({ description: 'The bound that was used; null: none.' }),
    max_rows: z.int().nullable().meta({ description: 'The ceiling of the server; null: none.' }),
    truncated: z.boolean().meta({ description: 'There is more in the file.' }),
    capped_by: z
      .enum(['rows', 'bytes', 'time'])
      .optional()
      .meta({ description: 'What ended the preview before the file did.' }),
    elapsed_ms: z.int(),
  })
  .meta({ description: 'The first records of a file.' });
export type OutputPreview = Readonly<z.infer<typeof previewSchema>>;
