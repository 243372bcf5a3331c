import type { Credential, CredentialProvider, SourceContext } from '../../kit/context.ts';
import type { Page } from '../../kit/page.ts';
import type { ReadRequest, Source } from '../../kit/source.ts';
import { ConnectorError, isTransient, messageOf } from '../../lib/errors.ts';
import { parseData, type JsonValue } from '../../lib/text/json.ts';
import { utf8Text } from '../_brokers/payload.ts';
import { Arrivals, pagesOf } from '../_http/arrivals.ts';
import { isRefused, partsOf } from '../_http/credential-parts.ts';
import { fillPath, valuesOf } from '../_http/placeholders.ts';
import { bareUrl, safeUrl, withQuery } from '../_http/url.ts';
import type { WebsocketConfig } from './config.ts';
import { connect, type Connection } from './connection.ts';

export class WebsocketSource implements Source {
  readonly #config: WebsocketConfig;
  readonly #context: SourceContext;
  readonly #provider: CredentialProvider;
  readonly #url: string;
  readonly #arrivals: Arrivals;
  readonly #over = new AbortController();
  #connection: Connection | undefined;
  #wasConnected = false;
  #lastFailure: unknown;
  /** Of messages that were taken. */
  #count = 0;
  /** Connections in a row that gave no message. */
  #attempts = 0;
  #lastFrameMs: number;

  constructor(config: WebsocketConfig, context: SourceContext) {
    const { env, pageBytes, parent, credentials } = context;
    this.#config = config;
    this.#context = context;
    this.#provider = credentials.resolve(config.auth);
    this.#url = fillPath(config.url, valuesOf(parent));
    this.#arrivals = new Arrivals(pageBytes, (isFull) => this.#pause(isFull));
    this.#lastFrameMs = env.clock.elapsedMs();
  }

  async *pages({ lane, limit }: ReadRequest): AsyncGenerator<Page> {
    const { batch_size: batchSize } = this.#config;
    const { signal, pageBytes, env } = this.#context;
    signal.throwIfAborted();
    this.#lastFrameMs = env.clock.elapsedMs();
    void this.#keepConnected();
    void this.#endWhenIdle();
    const { clock } = env;
    try {
      yield* pagesOf(this.#arrivals, { lane, limit, batchSize, pageBytes, clock, signal });
    } finally {
      await this.close();
    }
  }

  close(): Promise<void> {
    this.#over.abort();
    this.#arrivals.end();
    this.#connection?.close();
    return Promise.resolve();
  }

  /** Connects, and again where the config says so, until there is nothing more to come. */
  async #keepConnected(): Promise<void> {
    const {
      reconnect,
      reconnect_backoff: pause,
      max_reconnect_attempts: most = Infinity,
    } = this.#config;
    const { env } = this.#context;
    while (!this.#arrivals.hasEnded) {
      const failure = await this.#useConnection().catch((error: unknown) => error);
      if (this.#arrivals.hasEnded) return;
      if (failure === undefined) return this.#arrivals.end();
      this.#lastFailure = failure;
      const mayHelp = failure instanceof ConnectorError && isTransient(failure.kind);
      this.#attempts += 1;
      if (!reconnect || !mayHelp || this.#attempts > most)
        return this.#arrivals.end({ error: failure });
      env.log.warn('connecting again', { attempt: this.#attempts, error: messageOf(failure) });
      await env.clock.sleep(pause * 1000, this.#over.signal);
    }
  }

  /** Undefined when the server has closed the connection because it has nothing more to send. */
  async #useConnection(): Promise<unknown> {
    const login = await this.#provider.get(this.#context.signal);
    const failure = await this.#useLogin(login);
    if (!(failure instanceof ConnectorError && isRefused(login, failure))) return failure;
    // It was good when it was given, and may have expired since.
    this.#provider.invalidate(login);
    const renewed = await this.#provider.get(this.#context.signal);
    return renewed === login ? failure : this.#useLogin(renewed);
  }

  async #useLogin(credential: Credential): Promise<unknown> {
    const { subscribe_messages: greetings, max_message_bytes: maxMessageBytes } = this.#config;
    const { ping_interval: ping, reconnect: reconnects } = this.#config;
    const { headers, query } = partsOf(credential, { method: 'GET', url: this.#url });
    const connection = await connect({
      url: withQuery(this.#url, Object.entries(query)),
      headers,
      maxMessageBytes,
      greetings,
      reconnects,
      pingMs: ping === undefined ? undefined : ping * 1000,
      onMessage: (bytes) => this.#take(bytes),
      onFrame: () => (this.#lastFrameMs = this.#context.env.clock.elapsedMs()),
    });
    this.#connection = connection;
    if (this.#arrivals.hasEnded) connection.close();
    const failure = await connection.ended();
    this.#wasConnected ||= connection.hasOpened;
    return failure;
  }

  #take(bytes: Buffer): void {
    const { max_messages: most = Infinity, envelope } = this.#config;
    const { env } = this.#context;
    if (this.#arrivals.hasEnded) return;
    this.#attempts = 0;
    const data = this.#valueOf(bytes);
    if (data === undefined) return;
    const received = (): string => env.clock.now().toISOString();
    const value = envelope ? { data, received_at: received(), url: bareUrl(this.#url) } : data;
    this.#arrivals.push({ value, size: bytes.length });
    this.#count += 1;
    if (this.#count >= most) this.#arrivals.end();
  }

  /** Undefined: it is passed over, or ends the read. */
  #valueOf(bytes: Buffer): JsonValue | undefined {
    const { message_format: format, on_parse_error: onError } = this.#config;
    if (format === 'binary') return bytes.toString('base64');
    const text = utf8Text(bytes);
    try {
      if (text !== undefined) return format === 'json' ? parseData(text) : text;
    } catch {
      // Told below, without a piece of it.
    }
    const { env } = this.#context;
    const what = `a message of ${safeUrl(this.#url)} is not ${text === undefined ? 'UTF-8 text' : 'JSON'}`;
    if (onError === 'skip') env.log.warn('a message is passed over', { reason: what });
    else
      this.#arrivals.end({
        error: new ConnectorError('data', what, {
          hint: 'set `message_format` to what the server sends, or `on_parse_error: skip`',
        }),
      });
    return undefined;
  }

  #pause(isFull: boolean): void {
    this.#lastFrameMs = this.#context.env.clock.elapsedMs();
    this.#connection?.pause(isFull);
  }

  #neverOpened(seconds: number): ConnectorError {
    return new ConnectorError(
      'timeout',
      `${safeUrl(this.#url)} did not answer within ${seconds} s`,
      {
        hint: 'check the address, and whether a WebSocket is served there, or raise `idle_timeout`',
      },
    );
  }

  /** A server that was never reached is no silent one. */
  async #endWhenIdle(): Promise<void> {
    const { idle_timeout: seconds } = this.#config;
    if (seconds === undefined) return;
    const { clock } = this.#context.env;
    const over = this.#over.signal;
    while (!over.aborted) {
      const leftMs = this.#lastFrameMs + seconds * 1000 - clock.elapsedMs();
      if (leftMs > 0 || this.#arrivals.isFull) await clock.sleep(Math.max(leftMs, 10), over);
      else {
        const isReached = this.#wasConnected || this.#connection?.hasOpened === true;
        return this.#arrivals.end(
          isReached ? {} : { error: this.#lastFailure ?? this.#neverOpened(seconds) },
        );
      }
    }
  }
}
