/** A submission as it is stored and as it reaches the process that executes it. */
import { z } from 'zod';

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
});
export type SubmittedDocument = Readonly<z.infer<typeof submittedDocumentSchema>>;

export const SUBMISSION_VERSION = 1;

/**
 * What is stored of a run until it has ended, beside its record (which holds its labels and its
 * idempotency key). `base` is stored once for all submissions that share it.
 */
export const storedSubmissionSchema = submittedDocumentSchema.omit({ base: true }).extend({
  version: z.literal(SUBMISSION_VERSION),
  /** RFC 3339; what `${now.*}` renders. */
  clock: z.string(),
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
});
export type StoredSubmissionContent = Readonly<z.infer<typeof storedSubmissionSchema>>;
