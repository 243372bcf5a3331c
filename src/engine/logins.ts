import { createCredentials } from '../credentials/index.ts';
import type { Credentials } from '../kit/context.ts';
import type { ExecuteOptions } from './engine.ts';

/**
 * The logins that a document declares: for one execution, or for several that follow each other.
 * Throws `ConfigError`.
 */
export function openLogins(
  { plan, parts, env }: Pick<ExecuteOptions, 'plan' | 'parts' | 'env'>,
  signal: AbortSignal,
): Credentials {
  return createCredentials(parts.credentials, plan.auth, { env, signal });
}
