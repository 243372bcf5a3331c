import type { Env } from '../lib/env.ts';
import type { JsonObject } from '../lib/text/json.ts';

/**
 * What a secrets manager is told about the world. Its own settings (address, login) come from
 * `env.variables`.
 */
export interface SecretContext {
  readonly env: Pick<Env, 'variables' | 'fetch' | 'redactor'>;
}

/** A connection to one secrets manager, used for the secrets of one document. */
export interface SecretManager {
  /**
   * The newest value of a secret, as text or as the mapping that it is kept as. Makes one attempt;
   * repeating and the time allowed are the caller's matter. Failures are `ConnectorError`s whose
   * text holds no value: `missing` when there is no such secret, `auth` when this program may not
   * read it, `refused` when this build cannot.
   */
  read(name: string, signal: AbortSignal): Promise<string | JsonObject>;
  close(): Promise<void>;
}

/** An environment variable that a secrets manager is configured with. */
export interface SecretSetting {
  readonly name: string;
  readonly description: string;
}

export interface SecretManagerDefinition {
  readonly role: 'secrets';
  /** What stands before the colon of its tokens. */
  readonly type: string;
  readonly description: string;
  readonly settings: readonly SecretSetting[];
  /** Loads the client of the vendor; contacts nothing. */
  open(context: SecretContext): Promise<SecretManager>;
}

export function defineSecretManager(
  definition: Omit<SecretManagerDefinition, 'role'>,
): SecretManagerDefinition {
  return Object.freeze({ role: 'secrets' as const, ...definition });
}
