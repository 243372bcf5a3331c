/** Everything one comparison works with, and the reasons why there may be none. */
import { verifyBlock } from '../../blocks/verify/index.ts';
import { blockOf } from '../../blocks/define-block.ts';
import { createCredentials } from '../../credentials/index.ts';
import type { Credentials } from '../../kit/context.ts';
import type { Parts } from '../../kit/parts.ts';
import type { SinkCapabilities } from '../../kit/sink.ts';
import type { Env } from '../../lib/env.ts';
import { RefusedError } from '../../lib/errors.ts';
import type { Plan, PlannedRow } from '../../plan/plan.ts';
import { resolvePart, type RuntimeTokens } from '../../plan/resolve.ts';
import {
  isObstacle,
  verificationBy,
  verifyByDefault,
  type Verification,
} from '../../blocks/verify/verification.ts';
import type { VerifyTask } from '../../wire/verify.ts';
import { SINGLE_ITERATION } from '../expand/iteration.ts';
import type { ExecutionFence } from '../row/execution-fence.ts';

export interface VerifyRowOptions {
  readonly plan: Plan;
  readonly row: PlannedRow;
  readonly parts: Parts;
  readonly env: Env;
  readonly runId: string;
  /** Present where other servers may take the run over. */
  readonly fence?: ExecutionFence | undefined;
  /** What `${now.*}` renders. */
  readonly clock: Date;
  /** Time zone of `${now.*}`; UTC when absent. */
  readonly zone?: string | undefined;
  /** Ends the comparison. */
  readonly stop: AbortSignal;
  /** Ends everything, also a write of a repair. */
  readonly kill: AbortSignal;
  readonly task: Omit<VerifyTask, 'row'>;
  /**
   * Whether the run has dead-lettered what its checks reject; then the repair does not do so again.
   */
  readonly hasPutAside?: boolean;
  /** The logins of the run; the comparison makes its own when absent. */
  readonly credentials?: Credentials;
}

/** Everything one comparison works with. */
export interface VerifySettings extends VerifyRowOptions {
  readonly verification: Verification;
  readonly key: readonly string[];
  readonly tokens: RuntimeTokens;
  readonly invocationId: string;
  readonly credentials: Credentials;
  /** Of the sink in this run. */
  readonly sinkConfig: unknown;
  readonly writes: SinkCapabilities;
}

/** Throws `RefusedError` (`bad_config`) when there is nothing to compare, or no way to. */
export function verifySettingsOf(options: VerifyRowOptions): VerifySettings {
  const { plan, row, env, clock, zone = 'UTC', kill, parts } = options;
  const verification = verificationBy(blockOf(row, verifyBlock) ?? verifyByDefault(), row, {
    topology: plan.topology,
    rows: [...plan.rows, ...plan.unselected],
  });
  if (isObstacle(verification)) throw impossible(verification.message, verification.hint);
  const tokens: RuntimeTokens = { now: { date: clock, zone }, records: SINGLE_ITERATION.records };
  const sinkConfig = resolvePart(row.sink, tokens);
  const writes = row.sink.definition.capabilities(sinkConfig);
  const key = verification.key.length > 0 ? verification.key : writes.key;
  if (key.length === 0)
    throw impossible(
      `row \`${row.id}\` has no key by which its records could be matched`,
      'set `verify.key`',
    );
  const credentials =
    options.credentials ?? createCredentials(parts.credentials, plan.auth, { env, signal: kill });
  return {
    ...options,
    verification,
    key,
    tokens,
    credentials,
    sinkConfig,
    writes,
    invocationId: env.ids.next(),
  };
}

export function impossible(message: string, hint: string): RefusedError {
  return new RefusedError('bad_config', message, { hint });
}
