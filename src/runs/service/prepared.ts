import type { Plan } from '../../plan/plan.ts';
import type { Submission } from '../../wire/run.ts';

/** A submitted document that may run. */
export interface Prepared {
  /** The tree after load-time interpolation and the merge over the defaults, as JSON. */
  readonly document: string;
  /** Drives state keys and metric labels. */
  readonly name: string;
  /** False when neither the submission nor the document gives a name. */
  readonly isNamed: boolean;
  readonly plan: Plan;
  /** Of the document; decides whether a repeated submission is the same request. */
  readonly fingerprint: string;
}

/** The part of a submission that its document and plan are made of. */
export type PrepareInput = Pick<Submission, 'config' | 'config_format' | 'name'>;

/** From the text of a submission to a plan; throws `ConfigError` whose stage decides the status. */
export type Prepare = (submission: PrepareInput) => Promise<Prepared>;
