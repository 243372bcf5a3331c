/**
 * What a server asks of its worker processes. One shape for everything that crosses: a worker of
 * another version refuses it.
 */
import { z } from 'zod';
import type { ConfigStage, Issue, RefusalCode } from '../lib/errors.ts';
import type { LogLevel } from '../lib/log.ts';
import type { JsonValue } from '../lib/text/json.ts';
import { DEAD_REASONS } from './dead-reasons.ts';
import type { OutcomeError } from './outcome.ts';
import { shardSchema } from './shards.ts';
import { submittedDocumentSchema, withheldSchema } from './submission.ts';

export const JOB_VERSION = 1;

const document = submittedDocumentSchema;

export const runJobSchema = z.strictObject({
  kind: z.literal('run'),
  run_id: z.string(),
  document,
  clock: z.string(),
  zone: z.string().optional(),
  concurrency: z.int().positive().nullable(),
  reads_anew: z.boolean(),
  /** Tells this execution of the run from those on other servers before it. */
  claim: z.int().positive().optional(),
  /** It is not the whole run, but this part of it. */
  shard: shardSchema.optional(),
});

/** Reads, resolves and plans a document, and says what a server needs to know of it. */
export const prepareJobSchema = z.strictObject({
  kind: z.literal('prepare'),
  document,
  /** It is that of many runs: the tokens of backfills stay. */
  is_range: z.boolean(),
});

/** What the schedule of a document says. */
export const scheduleJobSchema = z.strictObject({
  kind: z.literal('schedule'),
  document,
  /** Nobody is asked for a secret. */
  keeps_secrets: z.boolean(),
});

/** The plan of a document, to be looked at. No secret is read. */
export const planJobSchema = z.strictObject({
  kind: z.literal('plan'),
  document,
  /** What it was given and is not stored. */
  withheld: withheldSchema,
});

export const doctorJobSchema = z.strictObject({
  kind: z.literal('doctor'),
  document,
  /** Budget of the probes of one part. */
  probe_timeout_ms: z.number().positive(),
});

export const verifyJobSchema = z.strictObject({
  kind: z.literal('verify'),
  document,
  row: z.string().nullable(),
  repair: z.boolean(),
  allow_delete: z.boolean(),
  dry_run: z.boolean(),
  max_differences: z.int().nullable(),
});

export const replayJobSchema = z.strictObject({
  kind: z.literal('replay'),
  document,
  from: z.string(),
  reason: z.enum(DEAD_REASONS).nullable(),
  cause: z.string().nullable(),
  letter: z.string().nullable(),
  /** In place of that of the letter. */
  payload: z.unknown() as z.ZodType<JsonValue | undefined>,
  row: z.string().nullable(),
  failed_dlq: z.string().nullable(),
  dry_run: z.boolean(),
  keys: z.array(z.string()),
});

export const rollbackJobSchema = z.strictObject({
  kind: z.literal('rollback'),
  document,
  invocation_id: z.string(),
  row: z.string().nullable(),
  dry_run: z.boolean(),
  force: z.boolean(),
});

/** The first records of a file of this machine. */
export const previewJobSchema = z.strictObject({
  kind: z.literal('preview'),
  path: z.string(),
  file_kind: z.string(),
  /** Null: no bound. */
  row_limit: z.int().nullable(),
});

/** Files that a run wrote, whose checksums its receipt names. */
export const receiptFilesJobSchema = z.strictObject({
  kind: z.literal('receipt_files'),
  files: z.array(z.strictObject({ path: z.string(), row: z.string(), dataset_uri: z.string() })),
  ended_at: z.string().nullable(),
  /** Of all files together. */
  most_bytes: z.number(),
});

/** What a queue of dead letters holds. */
export const inspectJobSchema = z.strictObject({
  kind: z.literal('inspect'),
  location: z.string(),
  reason: z.enum(DEAD_REASONS).nullable(),
  cause: z.string().nullable(),
  /** Dead letters to show. */
  limit: z.int(),
  keys: z.array(z.string()),
});

/** Takes dead letters out of a queue. */
export const discardJobSchema = z.strictObject({
  kind: z.literal('discard'),
  location: z.string(),
  reason: z.enum(DEAD_REASONS).nullable(),
  cause: z.string().nullable(),
  letter: z.string().nullable(),
  before_ms: z.number().nullable(),
  /** They do not go to an archive. */
  is_final: z.boolean(),
  keys: z.array(z.string()),
});

const templateText = z.strictObject({ body: z.string(), format: z.enum(['yaml', 'json']) });

/** Whether a document can be registered, and what the registry lists of it. */
export const checkTemplateJobSchema = z.strictObject({
  kind: z.literal('check_template'),
  template: templateText,
  /** The default document of the server. */
  base: z.string().nullable(),
});

/** Makes one pipeline document of templates. */
export const composeTemplateJobSchema = z.strictObject({
  kind: z.literal('compose_template'),
  source: templateText,
  sink: templateText,
  overlay: templateText.nullable(),
});

const listedTemplate = templateText.extend({
  id: z.string(),
  newest: z.int().nullable(),
  stable: z.int().nullable(),
});

/** Pairs every source template with every sink template. */
export const templateMatrixJobSchema = z.strictObject({
  kind: z.literal('template_matrix'),
  sources: z.array(listedTemplate),
  sinks: z.array(listedTemplate),
});

/** The first records of a document that is not submitted. */
export const sampleJobSchema = z.strictObject({
  kind: z.literal('sample'),
  document,
  limit: z.int().positive(),
});

/** What the stages of a row make of its first records. */
export const stagesJobSchema = z.strictObject({
  kind: z.literal('stages'),
  document,
  row: z.string().nullable(),
  limit: z.int().positive(),
});

/** Which data sets the source of a document has. */
export const discoverJobSchema = z.strictObject({
  kind: z.literal('discover'),
  document,
  /** A preset; null: the source of the pipeline. */
  source: z.string().nullable(),
  include: z.array(z.string()),
  exclude: z.array(z.string()),
});

/** Executes a document without writing anything. */
export const dryRunJobSchema = z.strictObject({
  kind: z.literal('dry_run'),
  document,
  clock: z.string(),
});

export type JobRequest = Readonly<
  | z.infer<typeof runJobSchema>
  | z.infer<typeof prepareJobSchema>
  | z.infer<typeof scheduleJobSchema>
  | z.infer<typeof planJobSchema>
  | z.infer<typeof doctorJobSchema>
  | z.infer<typeof verifyJobSchema>
  | z.infer<typeof replayJobSchema>
  | z.infer<typeof rollbackJobSchema>
  | z.infer<typeof previewJobSchema>
  | z.infer<typeof receiptFilesJobSchema>
  | z.infer<typeof inspectJobSchema>
  | z.infer<typeof discardJobSchema>
  | z.infer<typeof checkTemplateJobSchema>
  | z.infer<typeof composeTemplateJobSchema>
  | z.infer<typeof templateMatrixJobSchema>
  | z.infer<typeof sampleJobSchema>
  | z.infer<typeof stagesJobSchema>
  | z.infer<typeof discoverJobSchema>
  | z.infer<typeof dryRunJobSchema>
>;
export type JobKind = JobRequest['kind'];
export type RequestOf<K extends JobKind> = Extract<JobRequest, { readonly kind: K }>;

export interface Job {
  readonly version: typeof JOB_VERSION;
  readonly id: string;
  readonly log_level: LogLevel;
  /** Whoever started the server chose how much is logged: documents have no say in it. */
  readonly is_level_chosen: boolean;
  /** Checked by the schema of its kind, before it is executed. */
  readonly request: JobRequest;
}

/** How a job can end; `finished` with what its kind gives. */
export type JobEnd<A = unknown> =
  | { readonly type: 'finished'; readonly answer: A }
  | { readonly type: 'refused'; readonly fault: JobFault }
  /** The worker died or was ended; the sentence says how. */
  | { readonly type: 'crashed'; readonly reason: string; readonly why: CrashCause };

/** `stopped`: before it began, or by force after its grace period. */
export type CrashCause = 'memory' | 'stopped' | 'not_started' | 'died';

/** Why a job was not done; everything in it is redacted. */
export type JobFault =
  | { readonly family: 'config'; readonly issues: readonly Issue[]; readonly stage: ConfigStage }
  | {
      readonly family: 'refused';
      readonly code: RefusalCode;
      readonly message: string;
      readonly hint?: string;
      readonly details?: unknown;
    }
  | { readonly family: 'other'; readonly error: OutcomeError };

export type StopCause = 'cancel' | 'timeout' | 'shutdown';
