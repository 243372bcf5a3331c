import type { SourceContext } from '../../../kit/context.ts';
import { backoffMs, type BackoffPolicy } from '../../../lib/time/backoff.ts';
import { ConnectorError, isTransient } from '../../../lib/errors.ts';
import { kindOfStatus, retryAfterMs } from '../../../lib/http/status-kind.ts';
import { percentDecoded } from '../../../lib/text/percent-decoded.ts';

export interface FetchOptions {
  readonly headers: Readonly<Record<string, string>>;
  /** How often a failed request is repeated. */
  readonly retries: number;
  readonly context: SourceContext;
}

export interface Answer {
  readonly lastModifiedMs: number | undefined;
  body(): AsyncIterable<Uint8Array>;
}

const BACKOFF: BackoffPolicy = { backoff: 'exponential', baseMs: 200, maxMs: 30_000, jitter: true };
/** A server that asks for a longer wait fails the request. */
const LONGEST_WAIT_MS = 120_000;
const CONNECT_TIMEOUT_MS = 60_000;

/**
 * Requests an address until there is an answer worth reading. `name` is the address without
 * anything secret.
 */
export async function fetchFile(url: URL, name: string, options: FetchOptions): Promise<Answer> {
  const { env, signal } = options.context;
  for (let attempt = 0; ; attempt += 1) {
    try {
      return answerOf(await request(url, name, options), name, signal);
    } catch (error) {
      signal.throwIfAborted();
      if (
        !(error instanceof ConnectorError) ||
        !isTransient(error.kind) ||
        attempt >= options.retries
      )
        throw error;
      const waitMs = error.retryAfterMs ?? backoffMs(BACKOFF, attempt);
      if (waitMs > LONGEST_WAIT_MS) throw error;
      env.log.warn('the request failed; trying again', {
        address: name,
        reason: error.message,
        wait_ms: Math.round(waitMs),
      });
      await env.clock.sleep(waitMs, signal);
      signal.throwIfAborted();
    }
  }
}

async function request(
  url: URL,
  name: string,
  { headers, context }: FetchOptions,
): Promise<Response> {
  const bare = new URL(url);
  bare.username = '';
  bare.password = '';
  const credentials = url.username === '' ? {} : { authorization: basic(url) };
  const timeout = new AbortController();
  const timer = setTimeout(() => timeout.abort(), CONNECT_TIMEOUT_MS);
  try {
    const signal = AbortSignal.any([context.signal, timeout.signal]);
    const response = await context.env.fetch(bare, {
      headers: { ...credentials, ...headers },
      signal,
    });
    if (response.ok) return response;
    await response.body?.cancel();
    throw statusError(response, name, context);
  } catch (error) {
    if (error instanceof ConnectorError) throw error;
    if (timeout.signal.aborted)
      throw new ConnectorError(
        'timeout',
        `${name} did not answer within ${CONNECT_TIMEOUT_MS / 1000} seconds`,
        { cause: error },
      );
    throw new ConnectorError('connection', `cannot reach ${name}`, { cause: error });
  } finally {
    clearTimeout(timer);
  }
}

function basic(url: URL): string {
  return `Basic ${Buffer.from(`${percentDecoded(url.username)}:${percentDecoded(url.password)}`).toString('base64')}`;
}

function statusError(response: Response, name: string, { env }: SourceContext): ConnectorError {
  const { status } = response;
  const waitMs = retryAfterMs(response.headers.get('retry-after'), env.clock.now());
  return new ConnectorError(kindOfStatus(status), `${name} answered ${status}`, {
    status,
    ...(waitMs === undefined ? {} : { retryAfterMs: waitMs }),
  });
}

function answerOf(response: Response, name: string, signal: AbortSignal): Answer {
  const lastModified = Date.parse(response.headers.get('last-modified') ?? '');
  return {
    lastModifiedMs: Number.isNaN(lastModified) ? undefined : lastModified,
    body: () => bodyOf(response, name, signal),
  };
}

async function* bodyOf(
  response: Response,
  name: string,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  if (response.body === null) return;
  try {
    for await (const block of response.body) {
      signal.throwIfAborted();
      yield block;
    }
  } catch (error) {
    signal.throwIfAborted();
    throw new ConnectorError('connection', `the connection to ${name} broke off`, { cause: error });
  }
}
