/** Requests and reports of dead letters, shared by the HTTP API and the command line. */
import { z } from 'zod';
import type { JsonValue } from '../lib/text/json.ts';
import { DEAD_REASONS, type DeadReason } from './dead-reasons.ts';

const reason = z
  .enum(DEAD_REASONS)
  .optional()
  .meta({ description: 'Only dead letters with this reason.' });
const idText = z.string().regex(/^[0-9a-f]{16}$/);
const cause = idText
  .optional()
  .meta({ description: 'Only dead letters of this cause, an id of `causes`.' });
const letter = idText.optional().meta({ description: 'Only this dead letter, an id of `sample`.' });
const encryptionKeys = z
  .array(z.string().min(1))
  .default([])
  .meta({ description: 'Keys of a sealed queue, the current one first.', secret: true });
const location = z.string().min(1).meta({
  description: 'A file of dead letters on the server, a folder of `.jsonl` files, or a glob.',
});

export const inspectRequestSchema = z
  .strictObject({
    location,
    reason,
    cause,
    limit: z
      .int()
      .min(0)
      .default(5)
      .meta({ description: 'Dead letters to show; a server shows 1000 at most.' }),
    encryption_keys: encryptionKeys,
  })
  .meta({ description: 'Which queue to look into.' });

const count = (description: string) => z.int().min(0).meta({ description });
const anyJson = z.unknown() as z.ZodType<JsonValue>;
const nullableText = (description: string) => z.string().nullable().meta({ description });

export const inspectionSchema = z
  .object({
    location: z.string().meta({ description: 'As asked for.' }),
    files_read: count('Files that were read.'),
    total_envelopes: count('Dead letters that pass the filter.'),
    malformed: count('Lines that are no JSON, whatever the filter says.'),
    non_envelope: count('Lines without a payload, whatever the filter says.'),
    undecryptable: count('Sealed lines that no key opens, whatever the filter says.'),
    by_reason: z
      .record(z.string(), z.int())
      .meta({ description: 'Dead letters by reason; `unknown` counts those without one.' }),
    by_error_kind: z
      .record(z.string(), z.int())
      .meta({ description: 'Dead letters by kind of error.' }),
    causes: z
      .array(
        z.object({
          id: z.string().meta({ description: 'Names the cause in other requests.' }),
          reason: nullableText('Why its records were put aside.'),
          error_kind: nullableText('Kind of the error.'),
          message: nullableText('The sentence, without the values of single records.'),
          letters: count('Dead letters of this cause.'),
        }),
      )
      .meta({ description: 'The most frequent first; of more than 200 those that came first.' }),
    sample: z
      .array(
        z.object({
          id: z.string().meta({ description: 'Names the dead letter in other requests.' }),
          file: z.string().meta({ description: 'The file in which it stands.' }),
          cause: z.string().meta({ description: 'Id of its cause.' }),
          reason: nullableText('Why the record was put aside.'),
          error_kind: nullableText('Kind of the error.'),
          error_message: nullableText('Redacted sentence.'),
          pipeline: nullableText('Pipeline that wrote the dead letter.'),
          row: nullableText('Its row.'),
          record_index: z
            .number()
            .nullable()
            .meta({ description: 'Index of the record in its page.' }),
          ts_ms: z
            .number()
            .nullable()
            .meta({ description: 'When it was put aside, in epoch milliseconds.' }),
          payload: anyJson.meta({ description: 'The record, after transforms and masking.' }),
        }),
      )
      .meta({ description: 'The first dead letters.' }),
  })
  .meta({ description: 'What a queue of dead letters holds.' });
export type Inspection = Readonly<z.infer<typeof inspectionSchema>>;

export const replayRequestSchema = z
  .strictObject({
    config: z
      .string()
      .meta({ description: 'The pipeline document that takes the records, YAML or JSON text.' }),
    config_format: z
      .enum(['yaml', 'json'])
      .default('yaml')
      .meta({ description: 'Format of `config`.' }),
    from: location,
    reason,
    cause,
    letter,
    payload: anyJson.optional().meta({
      description:
        'With `letter`: the record to replay in place of the one that was stored, which stays as it is.',
    }),
    failed_dlq: z.string().min(1).optional().meta({
      description:
        'File for records that fail again; `<name>.replay-failed.jsonl` beside the dead letters when absent.',
    }),
    row: z.string().min(1).optional().meta({
      description:
        'The root row to replay them through; the first when absent. Dead letters of other rows are skipped.',
    }),
    dry_run: z
      .boolean()
      .default(false)
      .meta({ description: 'Count the dead letters and write nothing.' }),
    encryption_keys: encryptionKeys,
  })
  .refine(({ letter: one, payload }) => payload === undefined || one !== undefined, {
    path: ['payload'],
    message: '`payload` needs `letter`: it is that of one dead letter',
  })
  .meta({ description: 'Which dead letters to send through which document.' });
export type ReplayBody = z.infer<typeof replayRequestSchema>;

export const replayReportSchema = z
  .object({
    candidates: count('Dead letters that pass the filter.'),
    records_written: count('Records the sink took.'),
    failed_dlq: z
      .string()
      .meta({ description: 'Path for records that fail again; there is no file when none did.' }),
    dry_run: z.boolean().meta({ description: 'Whether nothing was written.' }),
    passed_over: z
      .object({
        other_rows: count('Dead letters of other rows of the document.'),
        malformed: count('Lines that are no JSON.'),
        non_envelope: count('Lines without a payload.'),
        undecryptable: count('Sealed lines that no key opens.'),
        unread: count(
          'Dead letters of records that the source could not read, and still cannot; absent when there are none.',
        ).optional(),
      })
      .optional()
      .meta({
        description: 'What was read and not replayed; absent when there was nothing of that kind.',
      }),
  })
  .meta({ description: 'What became of the dead letters.' });
export type ReplayReport = Readonly<z.infer<typeof replayReportSchema>>;

/** A replay from the command line or over HTTP. */
export interface ReplayTask {
  readonly from: string;
  readonly reason?: DeadReason | undefined;
  /** The id of a cause. */
  readonly cause?: string | undefined;
  /** The id of one dead letter, and its payload where it is another one than that stored. */
  readonly letter?: string | undefined;
  readonly payload?: JsonValue | undefined;
  readonly row?: string | undefined;
  readonly failedDlq?: string | undefined;
  readonly dryRun: boolean;
  /** Skip transforms and masking: the payloads had passed both when they were stored. */
  readonly asWritten: boolean;
  /** Keys of the queue; when empty, those of the row's own dead-letter sink. */
  readonly keys: readonly string[];
}

export const discardRequestSchema = z
  .strictObject({
    location,
    reason,
    cause,
    letter,
    before_ms: z
      .int()
      .optional()
      .meta({ description: 'Only dead letters strictly older than this, in epoch milliseconds.' }),
    delete: z.boolean().default(false).meta({ description: 'Delete them instead of archiving.' }),
    encryption_keys: encryptionKeys,
  })
  .meta({ description: 'Which dead letters to take out of their queue.' });

export const discardReportSchema = z
  .object({
    discarded: count('Dead letters taken out.'),
    files_rewritten: count('Files that held such dead letters.'),
    archived_to: z
      .array(z.string())
      .meta({ description: 'Archives they went to; empty when they were deleted.' }),
  })
  .meta({ description: 'What was taken out.' });
export type DiscardReport = Readonly<z.infer<typeof discardReportSchema>>;
