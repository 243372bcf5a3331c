/** Requests of the REST API of BigQuery: the login, repeats, errors, and jobs until they have ended. */
import type { PartContext, RetryPolicy } from '../../kit/context.ts';
import { ConnectorError } from '../../lib/errors.ts';
import { retryAfterMs } from '../../lib/http/status-kind.ts';
import { excerptOf } from '../../lib/text/excerpt.ts';
import { isObject, parseJson, type JsonObject, type JsonValue } from '../../lib/text/json.ts';
import { googleProvider } from '../_google/login.ts';
import { HttpClient } from '../_http/client.ts';
import { statusError } from '../_http/errors.ts';
import { NO_RETRY } from '../_http/retry.ts';
import { runRequests } from '../_http/run-requests.ts';
import type { Connection } from './config.ts';
import { answerError, BigqueryError } from './errors.ts';

export const GOOGLE = 'https://bigquery.googleapis.com';
/** An answer may come that much later than the end of the wait that was asked for. */
const ANSWER_MS = 60_000;
const MS = 1000;

export type LinkContext = Pick<PartContext, 'env' | 'signal'> & { readonly retry?: RetryPolicy };

export interface Call {
  readonly method?: 'GET' | 'POST' | 'DELETE';
  /** That of the config when absent. */
  readonly project?: string;
  /** Behind `/bigquery/v2/projects/PROJECT/`. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string | number | undefined>>;
  readonly body?: JsonObject;
}

export class Link {
  readonly config: Connection;
  readonly context: LinkContext;
  readonly #client: HttpClient;
  readonly #base: string;

  private constructor(config: Connection, context: LinkContext, client: HttpClient) {
    this.config = config;
    this.context = context;
    this.#client = client;
    this.#base = `${endpointOf(config)}/bigquery/v2/projects/`;
  }

  static async open(config: Connection, context: LinkContext): Promise<Link> {
    const { env, signal } = context;
    const base = endpointOf(config);
    const client = new HttpClient({
      env,
      signal,
      provider: await googleProvider(config.auth, { url: base, scope: 'bigquery' }, context),
      homes: [base],
      timeoutMs: config.statement_timeout * MS + ANSWER_MS,
      timeoutField: 'statement_timeout',
      retry: NO_RETRY,
      accepts: () => true,
    });
    return new Link(config, context, client);
  }

  /** The answer; repeated as the document says. Each call must be one that may come twice. */
  async ask(what: string, call: Call): Promise<JsonObject> {
    const run = runRequests(this.context);
    const answer = await run(what, this.context.signal, () =>
      this.#send(this.#client, call).catch(unlessRepeated(isOfRequest)),
    );
    return toldOf(answer);
  }

  /** One attempt that goes on after a stop, for cleaning up. */
  askAnyway(call: Call, signal: AbortSignal): Promise<JsonObject> {
    return this.#send(this.#client.under(signal), call);
  }

  async #send(
    client: HttpClient,
    { method = 'GET', project = this.config.project_id, path, query = {}, body }: Call,
  ): Promise<JsonObject> {
    const words = Object.entries(query).filter(([, value]) => value !== undefined);
    const answer = await client.send({
      method,
      url: `${this.#base}${encodeURIComponent(project)}/${path}`,
      query: words.map(([name, value]) => [name, String(value)] as const),
      body: body === undefined ? undefined : { json: body },
    });
    const text = Buffer.from(answer.bytes).toString('utf8');
    const { status, shownUrl } = answer;
    const isFine = status >= 200 && status < 300;
    const content = contentOf(text);
    if (isFine && isObject(content)) return content;
    if (isFine && text === '') return {};
    const { redactor, clock } = this.context.env;
    const wait = retryAfterMs(answer.headers.get('retry-after'), clock.now());
    const failure = answerError(content, { status, retryAfterMs: wait }, redactor);
    if (failure !== undefined) throw failure;
    const url = shownUrl;
    if (!isFine)
      throw statusError({
        method,
        url,
        status,
        excerpt: excerptOf(text, redactor),
        retryAfterMs: wait,
      });
    throw new ConnectorError('data', `${method} ${url} does not answer as BigQuery does`, {
      hint: 'check `api_endpoint`',
    });
  }
}

/** A failure that is not to be repeated here. */
interface Failed {
  readonly failed: unknown;
}

/** Keeps errors from being repeated, but for those that `repeats` tells. */
export function unlessRepeated(repeats: (error: unknown) => boolean): (error: unknown) => Failed {
  return (error) => {
    if (repeats(error)) throw error;
    return { failed: error };
  };
}

export function toldOf<T extends object>(answer: T | Failed): T {
  if ('failed' in answer) throw answer.failed;
  return answer;
}

function isOfRequest(error: unknown): boolean {
  return !(error instanceof BigqueryError) || !error.endsJob;
}

function contentOf(text: string): JsonValue | undefined {
  try {
    return parseJson(text);
  } catch {
    return undefined;
  }
}

export function endpointOf({ api_endpoint: told }: Pick<Connection, 'api_endpoint'>): string {
  return (told ?? GOOGLE).replace(/\/+$/, '');
}
