import type { Credential, CredentialProvider } from '../kit/context.ts';
import type { Clock } from '../lib/time/clock.ts';

export interface FreshToken {
  readonly credential: Credential;
  /** Lifetime as the server reports it; absent: used until the server refuses it. */
  readonly lifetimeMs?: number | undefined;
}

export interface TokenCacheOptions {
  readonly clock: Clock;
  /** Requests a token. One call runs at a time. */
  readonly request: () => Promise<FreshToken>;
  /** The part of the lifetime after which a new token is requested. */
  readonly expiryRatio: number;
}

interface Held {
  readonly credential: Credential;
  readonly goodUntilMs: number;
}

/** Holds one token for all callers: callers during a request wait for the same result. */
export function cachedToken(options: TokenCacheOptions): CredentialProvider {
  const { clock, expiryRatio } = options;
  let held: Held | undefined;
  let pending: Promise<Credential> | undefined;

  const renew = async (): Promise<Credential> => {
    const askedMs = clock.elapsedMs();
    try {
      const { credential, lifetimeMs } = await options.request();
      held = {
        credential,
        goodUntilMs: lifetimeMs === undefined ? Infinity : askedMs + lifetimeMs * expiryRatio,
      };
      return credential;
    } finally {
      pending = undefined;
    }
  };

  return {
    get(signal) {
      if (held !== undefined && clock.elapsedMs() < held.goodUntilMs)
        return Promise.resolve(held.credential);
      pending ??= renew();
      return abortable(pending, signal);
    },
    invalidate(stale) {
      if (held?.credential === stale) held = undefined;
    },
  };
}

/** A caller that stops waiting does not stop the request for the others. */
function abortable<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return promise;
  return new Promise((resolve, reject) => {
    const leave = (): void => reject(signal.reason as Error);
    if (signal.aborted) leave();
    signal.addEventListener('abort', leave, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', leave));
  });
}
