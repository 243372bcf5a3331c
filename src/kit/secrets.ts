import type { Env } from '../lib/env.ts';
import type { JsonObject } from '../lib/text/json.ts';

/**
 * The surroundings of a secrets manager. Its own settings (address, login) come from
 * `env.variables`.
 */
export interface SecretContext {
  readonly env: Pick<Env, 'variables' | 'fetch' | 'redactor'>;
}

/** A connection to one secrets manager, used for the secrets of one document. */
export interface SecretManager {
  /**
   * The newest value of a secret, as text or as the mapping it is stored as. Makes one attempt;
   * retries and time limits are handled by the caller. Failures are `ConnectorError`s whose text
   * contains no secret value: `missing` when the secret does not exist, `auth` when this program
   * may not read it, `refused` when this build does not support it.
   */
  read(name: string, signal: AbortSignal): Promise<string | JsonObject>;
  close(): Promise<void>;
}

/** What a token names. */
export interface SecretName {
  /** Path, name or resource, as `read` is given it. */
  readonly name: string;
  /** Key of the secret when that is read as a JSON object. */
  readonly field?: string;
}

/** An environment variable that a secrets manager is configured with. */
export interface SecretSetting {
  readonly name: string;
  readonly description: string;
}

export interface SecretManagerDefinition {
  readonly role: 'secrets';
  /** The text before the colon of its tokens. */
  readonly type: string;
  readonly description: string;
  /** How what follows the colon is written, for messages: `<path>[#field]`. */
  readonly form: string;
  /** Reads what follows the colon; `undefined` when it is not of this form. */
  parse(this: void, text: string): SecretName | undefined;
  readonly settings: readonly SecretSetting[];
  /** Loads the vendor's client; makes no request. */
  open(context: SecretContext): Promise<SecretManager>;
}

export function defineSecretManager(
  definition: Omit<SecretManagerDefinition, 'role'>,
): SecretManagerDefinition {
  return Object.freeze({ role: 'secrets' as const, ...definition });
}
