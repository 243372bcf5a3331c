import { hash } from 'node:crypto';
import type { PlanSummary } from '../../wire/plan-summary.ts';
import type { Submission } from '../../wire/run.ts';
import type { Bound, SubmittedDocument } from '../../wire/submission.ts';

/** The part of a submission that its plan is made of. */
export type PrepareInput = Pick<Submission, 'config' | 'config_format' | 'name'> & {
  readonly bound?: Bound | undefined;
  /** In place of the default document of the server; null: none. */
  readonly base?: BaseDocument | null | undefined;
  /** Where it is known: that of `config`. */
  readonly config_hash?: string;
};

/** Equal only for equal texts. */
export function documentHash(config: string): string {
  return hash('sha256', config);
}

/**
 * From the text of a submission to what the server has to know of its plan; throws `ConfigError`
 * whose stage decides the status, or `RefusedError` when it takes too long.
 */
export type Prepare = (submission: PrepareInput, signal?: AbortSignal) => Promise<PlanSummary>;

/** The default document of a server, as text: nothing in it is resolved. */
export interface BaseDocument {
  /** JSON. */
  readonly content: string;
  readonly hash: string;
}

/** A document with the one that it is merged over, as a worker is given it. */
export function submittedDocument(
  { config, config_format, name, bound }: PrepareInput,
  base: BaseDocument | undefined,
): SubmittedDocument {
  return {
    config,
    config_format,
    name: name ?? null,
    base: base?.content ?? null,
    ...(bound === undefined ? {} : { bound }),
  };
}
