import type { Share } from './share.ts';
import type { TRANSIENT_KINDS } from '../lib/errors.ts';
import type { Env } from '../lib/env.ts';
import type { JsonObject, JsonValue } from '../lib/text/json.ts';
import type { BackoffPolicy } from '../lib/time/backoff.ts';

/** The surroundings of a part; passed to every `open` and `probe`. */
export interface PartContext {
  readonly env: Env;
  readonly pipeline: string;
  readonly row: string;
  /** Id of this invocation (UUID version 7). */
  readonly invocationId: string;
  /**
   * For sources it also fires on a cooperative stop. For sinks and stores it fires only when
   * everything must end now.
   */
  readonly signal: AbortSignal;
  /** Turns an `auth` block (inline or `{ref}`) into what a request needs. */
  readonly credentials: Credentials;
}

export interface SourceContext extends PartContext {
  /** The parent record of this child invocation. */
  readonly parent?: JsonValue;
  /** Values of the tokens that were left in `boundKeys`, by the name before their first dot. */
  readonly records?: ReadonlyMap<string, JsonValue>;
  /**
   * Upper bound of the encoded size of one page, in bytes. A page may be larger only if it holds a
   * single record.
   */
  readonly pageBytes: number;
  /** The document's `resilience.retry`, for sources that repeat their own requests. */
  readonly retry?: RetryPolicy;
  /** The part that this invocation reads, of a source that `divides` what it reads. */
  readonly share?: Share | undefined;
}

export interface SinkContext extends PartContext {
  /** `dlq` sinks always append and never see a bookmark. */
  readonly role: 'main' | 'dlq';
  /** The run (submission) this invocation belongs to. */
  readonly runId: string;
  /**
   * How often servers that share the run have begun it; absent where no other one takes it over. A
   * sink with a watermark commits nothing for an execution when a later one has begun.
   */
  readonly claim?: number | undefined;
  readonly retry?: RetryPolicy;
  /**
   * It is opened to be asked for its columns (`schema.current`) and for nothing else: neither a
   * file nor a folder nor a table is made or changed. What is not there has no columns.
   */
  readonly onlyReads?: boolean;
  /** `nothing` when absent. */
  readonly progress?: Progress;
  /** The position after which the source is read; to be asked by the first write or later. */
  startsAfter?(this: void): JsonValue | undefined;
}

/**
 * What is remembered of a run before its end. `nothing`: one that fails is repeated from its start.
 * `positions`: the next run goes on after the last one. `live`: the source does not end, or forgets
 * what was acknowledged, so what is flushed must be in its place.
 */
export type Progress = 'nothing' | 'positions' | 'live';

/** `resilience.retry` as parsed; `on` lists the error kinds that are repeated. */
export interface RetryPolicy extends BackoffPolicy {
  readonly maxAttempts: number;
  readonly on: readonly (typeof TRANSIENT_KINDS)[number][];
}

/** What a request sends to authenticate itself. Values are secrets: never log them. */
export interface Credential {
  /** The bare token, for parts that add it to the request themselves. */
  readonly token?: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly query: Readonly<Record<string, string>>;
  /** Takes the place of the configured address. */
  readonly baseUrl?: string;
  /** Statuses that say that it is no longer good; 401 unless given. */
  readonly refusedBy?: readonly number[];
  /** What is made anew for each request, and goes before the rest. */
  perRequest?(this: void, call: CalledRequest): RequestParts;
}

/** A request as it is sent, but for what a credential adds. */
export interface CalledRequest {
  readonly method: string;
  readonly url: string;
}

export interface RequestParts {
  readonly headers?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, string>>;
  /** Fields (or JSON pointers) of the JSON body. */
  readonly body?: JsonObject;
}

/**
 * One login, shared by all parts that name it: at most one token request and one refresh run at a
 * time.
 */
export interface CredentialProvider {
  get(signal?: AbortSignal): Promise<Credential>;
  /**
   * A request with this credential got 401: drop the credential unless a newer one is already
   * stored.
   */
  invalidate(stale: Credential): void;
}

export interface Credentials {
  /**
   * `auth` is a connector's block: `{ref: name}` or `{type, config}`; `undefined` means no
   * credential.
   */
  resolve(auth: JsonObject | undefined): CredentialProvider;
}

/** Passed to `open` of a credential definition. See `credentials/`. */
export interface CredentialContext {
  readonly env: Env;
  readonly signal: AbortSignal;
}
