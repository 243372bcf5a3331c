/** A submission as it is stored and as it reaches the process that executes it. */
import { z } from 'zod';
import type { JsonValue } from '../lib/text/json.ts';

/** What a caller supplies beside the document. */
export const boundSchema = z.strictObject({
  /** Values of `params`, by name. */
  params: z.record(
    z.string(),
    z.custom<JsonValue>((value) => value !== undefined),
  ),
  /** Variables that `${env:…}` and `${secret:…}` see before those of the environment. */
  env: z.record(z.string(), z.string()),
  /** The values of `params` come from an event: `${` in them is text. */
  params_are_data: z.literal(true).optional(),
});
export type Bound = Readonly<z.infer<typeof boundSchema>>;

/**
 * A document as it was sent. References to secrets stay references until the process that needs
 * the values resolves them.
 */
export const submittedDocumentSchema = z.strictObject({
  config: z.string(),
  config_format: z.enum(['yaml', 'json']),
  /** Given beside the document; stands above the name it gives itself. */
  name: z.string().nullable(),
  /** The default document of the server that it is merged over: JSON, unresolved as well. */
  base: z.string().nullable(),
  bound: boundSchema.optional(),
});
export type SubmittedDocument = Readonly<z.infer<typeof submittedDocumentSchema>>;

export const SUBMISSION_VERSION = 1;

/** Names of values that were given and are not stored. */
export const withheldSchema = z.strictObject({
  params: z.array(z.string()),
  env: z.array(z.string()),
});
export type Withheld = Readonly<z.infer<typeof withheldSchema>>;

/**
 * What is stored of a run, beside its record (which holds its labels and its idempotency key). The
 * document and `base` are stored once for all submissions that share them.
 */
export const storedSubmissionSchema = submittedDocumentSchema.omit({ base: true }).extend({
  version: z.literal(SUBMISSION_VERSION),
  /** Absent where it is stored once for several. */
  config: z.string().optional(),
  /** RFC 3339; what `${now.*}` renders. */
  clock: z.string(),
  /** The time zone in which it does; UTC when absent. */
  zone: z.string().optional(),
  concurrency: z.int().positive().nullable(),
  timeout_secs: z.int().positive().nullable(),
  /** Sources begin at the beginning, whatever positions are stored. */
  reads_anew: z.boolean(),
  /** Pipeline to which measurements are added, in place of the name of the run. */
  measured_as: z.string().nullable(),
  /**
   * `withheld`: it holds header values or a login, which are not stored; a server that takes the
   * run over cannot call back.
   */
  callback: z.enum(['none', 'recorded', 'withheld']),
  /** It was given secrets, which are not stored; only the server that has it can execute it. */
  withheld: withheldSchema.optional(),
  /** The same, as earlier builds stored it: nothing that was given is stored. */
  is_bound_withheld: z.literal(true).optional(),
});
export type StoredSubmissionContent = Readonly<z.infer<typeof storedSubmissionSchema>> & {
  readonly config: string;
};
