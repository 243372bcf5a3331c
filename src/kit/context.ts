import type { TRANSIENT_KINDS } from '../lib/errors.ts';
import type { Env } from '../lib/env.ts';
import type { JsonObject, JsonValue } from '../lib/text/json.ts';
import type { BackoffPolicy } from '../lib/time/backoff.ts';

/** Where and for whom a part works. Handed to every `open` and `probe`. */
export interface PartContext {
  readonly env: Env;
  readonly pipeline: string;
  readonly row: string;
  /** Id of this invocation (UUID version 7). */
  readonly invocationId: string;
  /**
   * Sources: fires on a cooperative stop too. Sinks and stores: fires only when everything must end
   * now.
   */
  readonly signal: AbortSignal;
  /** Turns an `auth` block (inline or `{ref}`) into what a request needs. */
  readonly credentials: Credentials;
}

export interface SourceContext extends PartContext {
  /** The parent record this child invocation runs for. */
  readonly parent?: JsonValue;
  /** What the tokens that are left in `boundKeys` stand for, by the name before their first dot. */
  readonly records?: ReadonlyMap<string, JsonValue>;
  /**
   * Upper bound of the encoded size of one page, in bytes; a page holds at least one record
   * whatever its size.
   */
  readonly pageBytes: number;
  /** The document's `resilience.retry`, for sources that repeat their own requests. */
  readonly retry?: RetryPolicy;
}

export interface SinkContext extends PartContext {
  /** `dlq` sinks always append and never see a bookmark. */
  readonly role: 'main' | 'dlq';
  /** The run (submission) this invocation belongs to. */
  readonly runId: string;
  readonly retry?: RetryPolicy;
}

/** `resilience.retry` as parsed; `on` lists the error kinds that are repeated. */
export interface RetryPolicy extends BackoffPolicy {
  readonly maxAttempts: number;
  readonly on: readonly (typeof TRANSIENT_KINDS)[number][];
}

/** What a request carries to be let in. Values are secrets: never log them. */
export interface Credential {
  /** The bare token, for parts that place it themselves. */
  readonly token?: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly query: Readonly<Record<string, string>>;
}

/**
 * One login shared by everybody who names it: one token request at a time, one refresh at a time.
 */
export interface CredentialProvider {
  get(signal?: AbortSignal): Promise<Credential>;
  /** A request made with this credential got 401: drop it unless a newer one is already held. */
  invalidate(stale: Credential): void;
}

export interface Credentials {
  /**
   * `auth` is a connector's block: `{ref: name}` or `{type, config}`; `undefined` means no
   * credential.
   */
  resolve(auth: JsonObject | undefined): CredentialProvider;
}

/** What a definition of a credential type compiles to. See `credentials/`. */
export interface CredentialContext {
  readonly env: Env;
  readonly signal: AbortSignal;
}
