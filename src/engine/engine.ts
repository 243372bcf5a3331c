/** The engine's front door: what `execute` takes and reports. */
import type { Env } from '../lib/env.ts';
import type { Progress } from '../wire/outcome.ts';
import type { Credentials } from '../kit/context.ts';
import type { Parts } from '../kit/parts.ts';
import type { Plan } from '../plan/plan.ts';
import type { Shard } from './expand/iteration.ts';
import type { FailpointHook } from './failpoints.ts';
import type { RunObserver } from './observe/observer.ts';
import type { ExecutionFence } from './row/execution-fence.ts';

export interface ShardSharing {
  /** The only one to read here. */
  readonly only?: Shard;
  /** Takes the shards of a row: true leaves them all to others. */
  divert?(this: void, shards: readonly Shard[]): boolean;
}

export interface ExecuteOptions {
  readonly plan: Plan;
  readonly parts: Parts;
  readonly env: Env;
  /** Id of the submission; a plain command-line run makes one. */
  readonly runId: string;
  /** Present where other servers may take the run over. */
  readonly fence?: ExecutionFence | undefined;
  /** What `${now.*}` renders; evaluated once per run. */
  readonly clock: Date;
  /** IANA name of the zone in which `${now.*}` is rendered; UTC when absent. */
  readonly zone?: string;
  /** Logins shared with other executions (`openLogins`); its own when absent. */
  readonly credentials?: Credentials;
  /** Cooperative stop: at the next page boundary, then flush. Its reason is a `StopReason`. */
  readonly signal: AbortSignal;
  /** Hard stop of everything, also of writes. */
  readonly killSignal?: AbortSignal;
  /** Overrides the concurrency setting of every connector that has one. */
  readonly concurrency?: number;
  /** Count instead of writing; state is read-only. */
  readonly dryRun?: boolean;
  /** Write at most this many records per row; state is read-only. */
  readonly limit?: number;
  /** Notified of what the run does. */
  readonly observers?: readonly RunObserver[];
  /** Takes over waiting for the observers at the end of the run; without it the run waits. */
  readonly onNotifying?: (notified: Promise<void>) => void;
  /** Whoever asks prints the outcome: the log does not repeat its messages. */
  readonly hasReceipt?: boolean;
  readonly onProgress?: (progress: Progress) => void;
  /** Where servers share the shards of a row. */
  readonly sharing?: ShardSharing | undefined;
  /**
   * How many threads may work on pages beside the one that moves them (`threadsToSpare`); none when
   * absent.
   */
  readonly threads?: number;
  /** For tests: bytes after which a row gets threads; with 0 its first page is given to one. */
  readonly threadsFromBytes?: number;
  /** Called at each failpoint, for crash tests. */
  readonly onFailpoint?: FailpointHook;
}
