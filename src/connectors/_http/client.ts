/**
 * Builds, sends and repeats all requests of this family of connectors, and checks their responses.
 */
import type { Credential, CredentialProvider } from '../../kit/context.ts';
import type { Env } from '../../lib/env.ts';
import { ConnectorError, isTransient } from '../../lib/errors.ts';
import { EXCERPT_READ_BYTES, excerptOf } from '../../lib/text/excerpt.ts';
import type { Redactor } from '../../lib/redact.ts';
import { stringifyJson, type JsonValue } from '../../lib/text/json.ts';
import { readStart } from '../../lib/http/response-text.ts';
import { readBody } from './body.ts';
import { isRefused, rebased } from './credential-parts.ts';
import { Deadline } from './deadline.ts';
import { statusError, timeoutError, transportError, type AnswerTime } from './errors.ts';
import { followRedirects, type Hop } from './redirects.ts';
import { waitBeforeRetry, type RequestRetry } from './retry.ts';
import { kindOfStatus, retryAfterMs } from '../../lib/http/status-kind.ts';
import type { ResponseRule } from './response-rules.ts';
import { isTrusted, safeUrl, withQuery, type QueryPairs } from './url.ts';
import { percentDecoded } from '../../lib/text/percent-decoded.ts';

export interface HttpRequest {
  readonly method: string;
  /** Absolute; `query` replaces parameters of the same name. */
  readonly url: string;
  readonly query?: QueryPairs;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?:
    | { readonly json: JsonValue }
    | { readonly text: string; readonly type: string }
    | undefined;
}

export interface HttpAnswer {
  readonly status: number;
  readonly headers: Headers;
  /** The final address after redirects, for relative links; not safe to show. */
  readonly url: string;
  /** The same address, safe to show. */
  readonly shownUrl: string;
  readonly bytes: Uint8Array;
}

export interface HttpStream extends Omit<HttpAnswer, 'bytes'> {
  readonly blocks: AsyncIterable<Uint8Array>;
}

export interface HttpClientOptions extends AnswerTime {
  readonly env: Env;
  readonly signal: AbortSignal;
  readonly provider: CredentialProvider;
  /**
   * Addresses from the document: credentials are sent only to these hosts and to `trustedHosts`.
   */
  readonly homes: readonly string[];
  readonly trustedHosts?: readonly string[];
  /** The configured address that a login may replace; unset: none may. */
  readonly baseUrl?: string | undefined;
  /** Sent with every request; a header of the credential has precedence. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly retry: RequestRetry;
  readonly rules?: readonly ResponseRule[];
  /** Which answers besides those of 2xx are read like them. */
  readonly accepts?: (response: Response) => boolean;
  /** Whether what is sent matters, and not only what comes back. */
  readonly keepsBody?: boolean;
  /** Used instead of `env.fetch`, for client certificates. */
  readonly fetch?: typeof fetch | undefined;
}

interface Exchange {
  readonly response: Response;
  readonly url: string;
  readonly shownUrl: string;
  readonly deadline: Deadline;
}

type Result<T> = { readonly value: T } | { readonly error: ConnectorError };

export class HttpClient {
  readonly #options: HttpClientOptions;
  readonly #homes: ReadonlySet<string>;
  readonly #trustedHosts: ReadonlySet<string>;

  constructor(options: HttpClientOptions) {
    this.#options = options;
    for (const home of options.homes) registerLogin(home, options.env.redactor);
    this.#homes = new Set(options.homes.map((home) => URL.parse(home)?.origin ?? home));
    this.#trustedHosts = new Set((options.trustedHosts ?? []).map((host) => host.toLowerCase()));
  }

  /** The same client, whose requests stop with another signal. */
  under(signal: AbortSignal): HttpClient {
    return new HttpClient({ ...this.#options, signal });
  }

  /**
   * Sends the request and reads the whole response. A status other than 2xx throws a
   * `ConnectorError` with that status.
   */
  async send(request: HttpRequest): Promise<HttpAnswer> {
    return this.read(request, (answer) => answer);
  }

  /** The same, and what `parse` makes of it, which says of an answer that it ends in the middle. */
  async read<T>(request: HttpRequest, parse: (answer: HttpAnswer) => T): Promise<T> {
    return this.#repeat(request, async ({ response, url, shownUrl, deadline }) => {
      using _ = deadline;
      const bytes = await readBody(response, shownUrl);
      const { status, headers } = response;
      return parse({ status, headers, url, shownUrl, bytes });
    });
  }

  /**
   * Sends the request and returns the body as a stream; a broken body is an error and is not
   * repeated.
   */
  async stream(request: HttpRequest): Promise<HttpStream> {
    return this.#repeat(request, (exchange) => {
      const { response, url, shownUrl } = exchange;
      const blocks = this.#blocks(exchange, request.method);
      return Promise.resolve({
        status: response.status,
        headers: response.headers,
        url,
        shownUrl,
        blocks,
      });
    });
  }

  async *#blocks(
    { response, shownUrl, deadline }: Exchange,
    method: string,
  ): AsyncGenerator<Uint8Array> {
    using _ = deadline;
    try {
      for await (const block of response.body ?? []) {
        deadline.pause();
        yield block;
        deadline.restart();
      }
    } catch (error) {
      throw this.#failure(error, { method, shownUrl, deadline });
    }
  }

  async #repeat<T>(request: HttpRequest, read: (exchange: Exchange) => Promise<T>): Promise<T> {
    const { provider, signal, retry, env } = this.#options;
    let refused: { readonly login: Credential; readonly error: ConnectorError } | undefined;
    for (let attempt = 0; ;) {
      signal.throwIfAborted();
      const login = await this.#login();
      if ('value' in login && login.value === refused?.login) throw refused.error;
      const result = 'value' in login ? await this.#attempt(request, login.value, read) : login;
      if ('value' in result) return result.value;
      const { error } = result;
      if ('value' in login && refused === undefined && isRefused(login.value, error)) {
        refused = { login: login.value, error };
        provider.invalidate(login.value);
        continue;
      }
      const waitMs = waitBeforeRetry(error, attempt, retry);
      if (waitMs === undefined) throw error;
      attempt += 1;
      env.log.info('a request failed and is repeated', {
        attempt,
        kind: error.kind,
        status: error.status,
        wait_ms: Math.round(waitMs),
      });
      await env.clock.sleep(waitMs, signal);
    }
  }

  /** A service that gives logins fails as others do. */
  async #login(): Promise<Result<Credential>> {
    const { provider, signal } = this.#options;
    try {
      return { value: await provider.get(signal) };
    } catch (error) {
      if (signal.aborted || !(error instanceof ConnectorError)) throw error;
      return { error };
    }
  }

  async #attempt<T>(
    request: HttpRequest,
    credential: Credential,
    read: (exchange: Exchange) => Promise<T>,
  ): Promise<Result<T>> {
    const deadline = new Deadline(this.#options.signal, this.#options.timeoutMs);
    const secretParams = Object.keys(credential.query);
    const first = withQuery(this.#addressOf(request, credential), request.query ?? []);
    let shownUrl = safeUrl(first, secretParams);
    try {
      const { response, url } = await followRedirects(this.#hop(request, first), {
        isTrusted: (target) =>
          isTrusted(target, this.#homes, this.#trustedHosts) ||
          target.origin === URL.parse(credential.baseUrl ?? '')?.origin,
        credential,
        keepsBody: this.#options.keepsBody,
        show: (target) => safeUrl(target, secretParams),
        send: (target, init) =>
          (this.#options.fetch ?? this.#options.env.fetch)(target, {
            ...init,
            signal: deadline.signal,
          }),
      });
      shownUrl = safeUrl(url, secretParams);
      const refusal = await this.#judge(response, { method: request.method, shownUrl });
      if (refusal !== undefined) {
        deadline[Symbol.dispose]();
        return { error: refusal };
      }
      return { value: await read({ response, url, shownUrl, deadline }) };
    } catch (error) {
      deadline[Symbol.dispose]();
      return { error: this.#failure(error, { method: request.method, shownUrl, deadline }) };
    }
  }

  #addressOf({ url }: HttpRequest, { baseUrl }: Credential): string {
    if (baseUrl === undefined) return url;
    const { baseUrl: configured } = this.#options;
    if (configured !== undefined) return rebased(url, configured, baseUrl);
    throw new ConnectorError('refused', 'the login gives an address, which cannot be used here', {
      hint: 'remove `base_url_from` from the login: it is for `rest` and `xml`',
    });
  }

  #hop(request: HttpRequest, url: string): Hop {
    const { body } = request;
    const headers: Record<string, string> = {
      accept: 'application/json, */*;q=0.5',
      'user-agent': 'headgate',
      ...lowerCased(this.#options.headers),
    };
    if (body !== undefined)
      headers['content-type'] ??= 'json' in body ? 'application/json' : body.type;
    Object.assign(headers, lowerCased(request.headers));
    const text =
      body === undefined ? undefined : 'json' in body ? stringifyJson(body.json) : body.text;
    return { url, method: request.method, headers, body: text };
  }

  async #judge(
    response: Response,
    call: { readonly method: string; readonly shownUrl: string },
  ): Promise<ConnectorError | undefined> {
    const { env } = this.#options;
    const now = env.clock.now();
    for (const rule of this.#options.rules ?? []) {
      const asked = await rule(response, now);
      if (asked !== undefined) {
        await response.body?.cancel();
        return new ConnectorError(
          'rate_limited',
          `${call.method} ${call.shownUrl} answers ${response.status}, which \`retry_on_response\` repeats`,
          {
            ...(response.ok ? {} : { status: response.status }),
            ...(asked.waitMs === undefined ? {} : { retryAfterMs: asked.waitMs }),
          },
        );
      }
    }
    if (response.ok || this.#options.accepts?.(response) === true) return undefined;
    const asked = isTransient(kindOfStatus(response.status))
      ? retryAfterMs(response.headers.get('retry-after'), now)
      : undefined;
    const start = await readStart(response, EXCERPT_READ_BYTES);
    return statusError({
      ...call,
      url: call.shownUrl,
      status: response.status,
      excerpt: excerptOf(start, env.redactor),
      retryAfterMs: asked,
    });
  }

  #failure(
    error: unknown,
    call: { readonly method: string; readonly shownUrl: string; readonly deadline: Deadline },
  ): ConnectorError {
    this.#options.signal.throwIfAborted();
    if (call.deadline.expired) return timeoutError(call.method, call.shownUrl, this.#options);
    return transportError(error, call.method, call.shownUrl);
  }
}

/** An address may contain a password. */
function registerLogin(address: string, redactor: Redactor): void {
  const password = URL.parse(address)?.password ?? '';
  redactor.register(password);
  redactor.register(percentDecoded(password));
}

function lowerCased(headers: Readonly<Record<string, string>> | undefined): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers ?? {}).map(([name, value]) => [name.toLowerCase(), value]),
  );
}
