/** Requests to the HTTP interface of a server: its login, its repeats and its errors. */
import type { Credential, PartContext, RetryPolicy } from '../../kit/context.ts';
import { ConnectorError } from '../../lib/errors.ts';
import { EXCERPT_READ_BYTES, excerptOf } from '../../lib/text/excerpt.ts';
import { isObject, jsonText, parseJson, type JsonValue } from '../../lib/text/json.ts';
import { HttpClient, type HttpStream } from '../_http/client.ts';
import { openConnections, type Connections } from '../_http/connections.ts';
import { statusError } from '../_http/errors.ts';
import {
  ALL_TRANSIENT,
  NO_RETRY,
  requestRetry,
  waitBeforeRetry,
  type RequestRetry,
} from '../_http/retry.ts';
import { retryAfterMs } from '../../lib/http/status-kind.ts';
import { baseOf, type Endpoint } from './config.ts';
import { isUntouched, serverError } from './errors.ts';
import { quoted } from './types/quote.ts';

const RETRY: RequestRetry = {
  maxRetries: 3,
  backoff: 'exponential',
  baseMs: 500,
  maxMs: 30_000,
  jitter: true,
  on: ALL_TRANSIENT,
};

export type LinkContext = PartContext & { readonly retry?: RetryPolicy };
export type Settings = Readonly<Record<string, string | number>>;

export interface Statement {
  /** With the data of an INSERT behind it. */
  readonly text: string;
  readonly settings?: Settings;
  /** False for what adds rows: after a lost answer they could be there twice. */
  readonly isRepeatable?: boolean;
}

/** A small result. */
export interface Rows {
  readonly columns: readonly { readonly name: string; readonly type: string }[];
  readonly rows: readonly (readonly JsonValue[])[];
}

/** What a server knows and does. */
export interface ServerFacts {
  readonly version: string;
  readonly zone: string;
  /** Whether this user may change the setting. */
  takes(this: void, setting: string): boolean;
}

function timeoutOf({ statement_timeout_secs: secs }: Endpoint): number | undefined {
  return secs === 0 ? undefined : secs * 1000;
}

export class Link {
  readonly #base: string;
  readonly #database: string;
  readonly #context: LinkContext;
  readonly #connections: Connections;
  readonly #client: HttpClient;
  readonly #retry: RequestRetry;

  private constructor(config: Endpoint, context: LinkContext, connections: Connections) {
    const { env, signal } = context;
    this.#base = baseOf(config);
    this.#database = config.database;
    this.#context = context;
    this.#connections = connections;
    this.#retry = requestRetry(context.retry, RETRY, {});
    if (config.password !== undefined) env.redactor.register(config.password);
    const credential = credentialOf(config);
    this.#client = new HttpClient({
      env,
      signal,
      provider: { get: () => Promise.resolve(credential), invalidate: () => {} },
      homes: [this.#base],
      timeoutMs: timeoutOf(config),
      timeoutField: 'statement_timeout_secs',
      retry: NO_RETRY,
      accepts: () => true,
      fetch: connections.fetch,
    });
  }

  static async open(config: Endpoint, context: LinkContext): Promise<Link> {
    const connections = await openConnections(
      { timeoutMs: timeoutOf(config) ?? Infinity },
      context.env,
    );
    return new Link(config, context, connections);
  }

  /** Starts a query; its result comes as JSONCompact, block by block. */
  async stream(statement: Statement): Promise<AsyncIterable<Uint8Array>> {
    return (await this.#send(statement)).blocks;
  }

  /** Runs a statement that gives no rows. */
  async run(statement: Statement): Promise<void> {
    await this.#repeat(statement, async () => {
      const text = await textOf(await this.#post(statement));
      const failure = serverError(text, this.#context.env.redactor);
      if (failure !== undefined && /^Code: \d/.test(text)) throw failure;
    });
  }

  async rows(text: string, settings: Settings = {}): Promise<Rows> {
    const statement = { text, settings };
    const body = await this.#repeat(statement, async () => textOf(await this.#post(statement)));
    return rowsIn(body, serverError(body, this.#context.env.redactor));
  }

  /** `settings`: those that are asked for. */
  async facts(settings: readonly string[]): Promise<ServerFacts> {
    const names = [...settings, 'readonly'].map(quoted).join(', ');
    const about = await this.rows('SELECT version(), timezone()');
    const known = await this.rows(`SELECT * FROM system.settings WHERE name IN (${names})`);
    const free = freeSettings(known);
    const [version, zone] = about.rows[0] ?? [];
    return {
      version: jsonText(version ?? ''),
      zone: jsonText(zone ?? ''),
      takes: (setting) => free.has(setting),
    };
  }

  async close(): Promise<void> {
    await this.#connections.close().catch(() => {});
  }

  #send(statement: Statement): Promise<HttpStream> {
    return this.#repeat(statement, () => this.#post(statement));
  }

  async #repeat<T>({ isRepeatable = true }: Statement, work: () => Promise<T>): Promise<T> {
    const { env, signal } = this.#context;
    for (let attempt = 0; ; attempt += 1) {
      try {
        return await work();
      } catch (error) {
        if (signal.aborted || !(error instanceof ConnectorError)) throw error;
        const waitMs = waitBeforeRetry(error, attempt, this.#retry);
        if (waitMs === undefined || (!isRepeatable && !isUntouched(error))) throw error;
        env.log.info('a request failed and is repeated', {
          attempt: attempt + 1,
          kind: error.kind,
          wait_ms: Math.round(waitMs),
        });
        await env.clock.sleep(waitMs, signal);
        signal.throwIfAborted();
      }
    }
  }

  async #post({ text, settings = {} }: Statement): Promise<HttpStream> {
    const answer = await this.#client.stream({
      method: 'POST',
      url: this.#base,
      query: [
        ['database', this.#database],
        ['default_format', 'JSONCompact'],
        ...Object.entries(settings).map(([name, value]) => [name, String(value)] as const),
      ],
      body: { text, type: 'text/plain; charset=utf-8' },
    });
    const code = answer.headers.get('x-clickhouse-exception-code');
    if (answer.status === 200 && code === null) return answer;
    throw await this.#refusal(answer, code);
  }

  async #refusal(answer: HttpStream, code: string | null): Promise<ConnectorError> {
    const { redactor } = this.#context.env;
    const { status, shownUrl, headers } = answer;
    const text = await textOf(answer, EXCERPT_READ_BYTES);
    const failure = serverError(text, redactor, code);
    if (failure !== undefined) return failure;
    const failed = statusError({
      method: 'POST',
      url: shownUrl,
      status,
      excerpt: excerptOf(text, redactor),
      retryAfterMs: retryAfterMs(headers.get('retry-after'), this.#context.env.clock.now()),
    });
    if (status !== 404) return failed;
    const hint =
      'check `url`: the HTTP interface of the server answers there, usually on port 8123';
    return new ConnectorError('missing', failed.message, { status, hint });
  }
}

/** Those that the user may change; old servers do not say so of each. */
function freeSettings({ columns, rows }: Rows): ReadonlySet<string> {
  const [name, value, readonly] = ['name', 'value', 'readonly'].map((column) => {
    const place = columns.findIndex((one) => one.name === column);
    return (row: readonly JsonValue[]): string => jsonText(row[place] ?? '');
  });
  if (name === undefined || value === undefined || readonly === undefined) return new Set();
  if (rows.some((row) => name(row) === 'readonly' && value(row) === '1')) return new Set();
  return new Set(rows.filter((row) => readonly(row) !== '1').map(name));
}

function credentialOf({ user, password }: Endpoint): Credential {
  return {
    headers: {
      ...(user === undefined ? {} : { 'x-clickhouse-user': user }),
      ...(password === undefined ? {} : { 'x-clickhouse-key': password }),
    },
    query: {},
  };
}

const LONGEST_TEXT = 64 * 1024 * 1024;

/** The body, or its start. */
async function textOf({ blocks }: HttpStream, most = LONGEST_TEXT): Promise<string> {
  const parts: Uint8Array[] = [];
  let length = 0;
  for await (const block of blocks) {
    parts.push(block);
    length += block.length;
    if (length >= most) break;
  }
  return Buffer.concat(parts).toString('utf8');
}

function rowsIn(body: string, failure: ConnectorError | undefined): Rows {
  let answer: JsonValue;
  try {
    answer = parseJson(body);
  } catch (error) {
    throw failure ?? notOurs(error);
  }
  const { meta = null, data = null } = isObject(answer) ? answer : {};
  if (!Array.isArray(meta) || !Array.isArray(data)) throw notOurs();
  return {
    columns: meta.filter(isObject).map(({ name, type }) => ({
      name: jsonText(name ?? ''),
      type: jsonText(type ?? ''),
    })),
    rows: data.filter((row) => Array.isArray(row)),
  };
}

function notOurs(cause?: unknown): ConnectorError {
  return new ConnectorError('data', 'the answer is none of a ClickHouse server', {
    hint: 'check `url`',
    cause,
  });
}
