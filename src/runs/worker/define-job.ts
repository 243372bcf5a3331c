/** What a worker can be asked to do: one declaration for each kind of job. */
import type { ZodType } from 'zod';
import type { Parts } from '../../kit/parts.ts';
import type { Env } from '../../lib/env.ts';
import type { RefusalCode } from '../../lib/errors.ts';
import type { LogLevel } from '../../lib/log.ts';
import type { JobKind, RequestOf } from '../../wire/job.ts';
import type { RunEvent } from '../../wire/run-event.ts';
import type { WorkAhead } from './executor.ts';

export interface JobLimits {
  /** With a worker at the same time. */
  readonly atOnce: number;
  /** Waiting for a place beyond those; more are refused. */
  readonly waiting: number;
  /** One that takes longer is ended. Counts from when a worker has it, or from its last event. */
  readonly limitMs: number;
  readonly countsFrom: 'begin' | 'last_event';
  /** How long one that is asked to stop may take before its process is killed. */
  readonly graceMs: number;
  /** What is answered when one takes too long or too much memory; `unavailable` by default. */
  readonly overdue?: RefusalCode;
  /** Changes nothing: one whose worker was ended from outside is given to another one. */
  readonly isRepeatable?: boolean;
  /** Jobs that take a millisecond: a worker is given several. Only for repeatable ones. */
  readonly ahead?: WorkAhead;
  /** One that takes longer gives its place to the next, so that a few cannot hold up all others. */
  readonly slowAfterMs?: number;
  /** With a worker beyond `atOnce` because they are slow. */
  readonly slowAtOnce?: number;
}

export interface JobContext {
  readonly id: string;
  readonly signal: AbortSignal;
  /** That of the process, with the log and the redactor of this job alone. */
  readonly env: Env;
  readonly parts: Parts;
  /** Threads that may work beside this process. */
  readonly threads: number;
  /** Of the machine. */
  readonly cpus: number;
  /** A log with the level of the document, unless the server was started with one. */
  readonly logAt: (level: LogLevel | undefined) => Env['log'];
  /**
   * Tells the server. Counts and progress are gathered for a moment, everything else goes at once.
   */
  readonly send: (event: RunEvent) => void;
  /** Asks the server whether the run is still that of this execution. */
  readonly isOwned: () => Promise<boolean>;
}

export interface JobDefinition<K extends JobKind = JobKind, A = unknown> {
  readonly kind: K;
  /** What people call it. */
  readonly word: string;
  readonly request: ZodType<RequestOf<K>>;
  /** Absent for runs: their service decides. */
  readonly limits?: JobLimits;
  /**
   * Heavy modules are imported in here: every worker loads every declaration. An `AppError` is
   * told to whoever asked; after any other one the process is not used again.
   */
  readonly execute: (request: RequestOf<K>, context: JobContext) => Promise<A>;
}

export type AnyJobDefinition = {
  readonly [K in JobKind]: JobDefinition<K>;
}[JobKind];

export function defineJob<K extends JobKind, A>(
  definition: JobDefinition<K, A>,
): JobDefinition<K, A> {
  return Object.freeze(definition);
}
