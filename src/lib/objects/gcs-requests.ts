/** Requests of the JSON API of Google Cloud Storage, and what their failures mean. */
import { ConnectorError, messageOf, type ConnectorErrorKind } from '../errors.ts';
import { retryAfterMs } from '../http/status-kind.ts';
import { isObject, type JsonObject, type JsonValue } from '../text/json.ts';
import type { GcsLogin } from './gcs-login.ts';
import type { RunRequest } from './object-store.ts';

export interface GcsRequest {
  readonly method?: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** A path behind the address of the store, or a whole address. */
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Uint8Array<ArrayBuffer> | string;
  /** Statuses that are no failure, beside 2xx. */
  readonly fine?: readonly number[];
  readonly signal: AbortSignal;
}

export interface GcsSending {
  /** `https://host`, without a `/` at the end. */
  readonly base: string;
  readonly login: GcsLogin;
  /** How long the store may take to answer. */
  readonly requestMs: number;
  readonly run: RunRequest;
}

const MESSAGE_CHARS = 500;

export class GcsRequests {
  readonly #sending: GcsSending;

  constructor(sending: GcsSending) {
    this.#sending = sending;
  }

  /** `failing` is what cannot be done, for messages. */
  ask(failing: string, request: GcsRequest): Promise<Response> {
    return this.repeat(failing, request.signal, () => this.send(failing, request));
  }

  /** The answer as an object. */
  async askJson(failing: string, request: GcsRequest): Promise<JsonObject> {
    return this.repeat(failing, request.signal, async () => {
      const response = await this.send(failing, request);
      try {
        const answer = (await response.json()) as JsonValue;
        return isObject(answer) ? answer : {};
      } catch (error) {
        throw connectionError(error, failing, request.signal);
      }
    });
  }

  /** The same without an answer. */
  async tell(failing: string, request: GcsRequest): Promise<number> {
    const response = await this.ask(failing, request);
    await response.body?.cancel();
    return response.status;
  }

  repeat<T>(failing: string, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    return this.#sending.run(failing, signal, work);
  }

  /** One attempt. */
  async send(failing: string, request: GcsRequest): Promise<Response> {
    const { method = 'GET', headers = {}, body, fine = [], signal } = request;
    const { base, login, requestMs } = this.#sending;
    const url = new URL(request.url.startsWith('/') ? base + request.url : request.url);
    const late = new AbortController();
    const timer = setTimeout(() => late.abort(), requestMs);
    try {
      signal.throwIfAborted();
      // The address of an upload is a credential of its own, and may be that of another host.
      const all = url.origin === new URL(base).origin ? await login(url.href) : new Headers();
      for (const [name, value] of Object.entries(headers)) all.set(name, value);
      const response = await fetch(url, {
        method,
        headers: all,
        ...(body === undefined ? {} : { body }),
        // An upload answers 308, which is no redirection.
        redirect: 'manual',
        signal: AbortSignal.any([signal, late.signal]),
      });
      if (response.ok || fine.includes(response.status)) return response;
      throw await failureOf(response, failing);
    } catch (error) {
      signal.throwIfAborted();
      if (late.signal.aborted)
        throw new ConnectorError(
          'timeout',
          `${failing}: no answer within ${Math.round(requestMs / 1000)} s`,
          { cause: error },
        );
      throw connectionError(error, failing, signal);
    } finally {
      clearTimeout(timer);
    }
  }
}

function connectionError(error: unknown, failing: string, signal: AbortSignal): ConnectorError {
  signal.throwIfAborted();
  if (error instanceof ConnectorError) return error;
  const { cause } = error as { readonly cause?: unknown };
  const inner: unknown = cause instanceof AggregateError ? (cause.errors[0] ?? cause) : cause;
  const why = messageOf(inner ?? error);
  return new ConnectorError('connection', `${failing}: ${why}`, { cause: error });
}

async function failureOf(response: Response, failing: string): Promise<ConnectorError> {
  const { status, headers } = response;
  const text = await response.text().catch(() => '');
  const hint = HINTS[status];
  const wait = retryAfterMs(headers.get('retry-after'), new Date());
  return new ConnectorError(kindOf(status), `${failing}: ${messageIn(text, status)}`, {
    status,
    ...(hint === undefined ? {} : { hint }),
    ...(wait === undefined ? {} : { retryAfterMs: wait }),
  });
}

const HINTS: Readonly<Record<number, string>> = {
  401: 'check `auth`: the store does not know who asks',
  403: 'grant the account a role on the bucket, such as Storage Object User',
};

function messageIn(text: string, status: number): string {
  try {
    const { error } = JSON.parse(text) as {
      readonly error?: { readonly message?: string } | string;
    };
    const message = typeof error === 'string' ? error : error?.message;
    if (message !== undefined && message !== '') return message.slice(0, MESSAGE_CHARS);
  } catch {
    // Some failures are plain text.
  }
  const plain = text.trim().slice(0, MESSAGE_CHARS);
  return plain === '' ? `the store answered ${status}` : `${plain} (${status})`;
}

function kindOf(status: number): ConnectorErrorKind {
  switch (status) {
    case 401:
      return 'auth';
    case 404:
      return 'missing';
    case 408:
      return 'timeout';
    case 429:
      return 'rate_limited';
    default:
      return status >= 500 ? 'http_5xx' : 'refused';
  }
}
