/** Requests to a cluster: its login, its repeats and its errors. */
import type { PartContext, RetryPolicy } from '../../kit/context.ts';
import { ConnectorError } from '../../lib/errors.ts';
import { isObject, jsonText, type JsonObject, type JsonValue } from '../../lib/text/json.ts';
import { jsonBody } from '../_http/body.ts';
import { HttpClient, type HttpAnswer, type HttpRequest } from '../_http/client.ts';
import { openConnections, type Connections } from '../_http/connections.ts';
import { ALL_TRANSIENT, requestRetry, type RequestRetry } from '../_http/retry.ts';
import { joinUrl } from '../_http/url.ts';
import type { ElasticsearchSinkConfig, ElasticsearchSourceConfig } from './config.ts';

const TIMEOUT_MS = 120_000;
const RETRY: RequestRetry = {
  maxRetries: 3,
  backoff: 'exponential',
  baseMs: 500,
  maxMs: 30_000,
  jitter: true,
  on: ALL_TRANSIENT,
};

type Config = Pick<ElasticsearchSourceConfig | ElasticsearchSinkConfig, 'base_url' | 'auth'>;
type Context = PartContext & { readonly retry?: RetryPolicy };

export interface Call {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** Below the address of the cluster, with its steps encoded. */
  readonly path: string;
  readonly query?: readonly (readonly [string, string])[];
  readonly json?: JsonValue;
  /** Lines of JSON, in place of `json`. */
  readonly lines?: string;
  /**
   * Whether it is repeated after the connection was lost. Not so what moves a place that the server
   * keeps: the answer that was lost would be skipped. Nor what adds documents whose ids the server
   * makes: they would be there twice.
   */
  readonly isRepeatable?: boolean;
}

export class Link {
  readonly #base: string;
  readonly #connections: Connections;
  readonly #client: HttpClient;
  readonly #once: HttpClient;
  readonly retry: RequestRetry;

  private constructor(config: Config, context: Context, connections: Connections) {
    const { env, signal, credentials } = context;
    this.#base = config.base_url;
    this.#connections = connections;
    this.retry = requestRetry(context.retry, RETRY, {});
    const options = {
      env,
      signal,
      provider: credentials.resolve(loginOf(config.auth)),
      homes: [config.base_url],
      timeoutMs: TIMEOUT_MS,
      fetch: connections.fetch,
    };
    this.#client = new HttpClient({ ...options, retry: this.retry });
    const rejected = this.retry.on.filter((kind) => kind === 'rate_limited');
    this.#once = new HttpClient({ ...options, retry: { ...this.retry, on: rejected } });
  }

  static async open(config: Config, context: Context): Promise<Link> {
    const connections = await openConnections({ timeoutMs: TIMEOUT_MS }, context.env);
    return new Link(config, context, connections);
  }

  async ask(call: Call): Promise<JsonObject> {
    const { isRepeatable = true, path } = call;
    const client = isRepeatable ? this.#client : this.#once;
    const body = await client.read(requestOf(this.#base, call), bodyOf);
    if (isObject(body)) return body;
    throw new ConnectorError('data', `the answer to \`${path}\` is no object`, {
      hint: 'check `base_url`: a cluster answers with objects',
    });
  }

  /** `undefined` where the server knows no such index. */
  async find(call: Call): Promise<JsonObject | undefined> {
    try {
      return await this.ask(call);
    } catch (error) {
      if (error instanceof ConnectorError && error.status === 404) return undefined;
      throw error;
    }
  }

  /** A list, as the compact APIs of the server give it. */
  async list(path: string, query: NonNullable<Call['query']>): Promise<JsonObject[]> {
    const request = requestOf(this.#base, { method: 'GET', path, query });
    const body = await this.#client.read(request, bodyOf);
    return Array.isArray(body) ? body.filter(isObject) : [];
  }

  async close(): Promise<void> {
    await this.#connections.close().catch(() => {});
  }
}

function bodyOf({ bytes, shownUrl }: HttpAnswer): JsonValue {
  return jsonBody(bytes, `the answer of ${shownUrl}`);
}

function requestOf(base: string, { method, path, query, json, lines }: Call): HttpRequest {
  const body =
    lines === undefined
      ? json === undefined
        ? undefined
        : { json }
      : { text: lines, type: 'application/x-ndjson' };
  return { method, url: joinUrl(base, path), ...(query === undefined ? {} : { query }), body };
}

function loginOf(login: Config['auth']): JsonObject | undefined {
  if (login === undefined || 'ref' in login || login.type !== 'api_key') return login;
  const { key = '' }: JsonObject = login.config;
  const value = `ApiKey ${jsonText(key)}`;
  return { type: login.type, config: { header: 'Authorization', value } };
}

/** One step of a path. */
export function step(name: string): string {
  return encodeURIComponent(name).replaceAll('%2C', ',').replaceAll('%2A', '*');
}
