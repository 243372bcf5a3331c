/**
 * Statements over the Statement Execution API: sent, asked for, cancelled, and their results in
 * chunks.
 */
import type { PartContext, RetryPolicy } from '../../../kit/context.ts';
import { ConnectorError } from '../../../lib/errors.ts';
import { isObject, jsonText, type JsonObject } from '../../../lib/text/json.ts';
import { isSpent } from '../../../lib/spent-attempts.ts';
import { untilAborted } from '../../../lib/until-aborted.ts';
import { jsonBody } from '../../_http/body.ts';
import {
  HttpClient,
  type HttpAnswer,
  type HttpClientOptions,
  type HttpRequest,
} from '../../_http/client.ts';
import { openConnections, type Connections } from '../../_http/connections.ts';
import { NO_RETRY, waitBeforeRetry, type RequestRetry } from '../../_http/retry.ts';
import { baseOf } from '../address.ts';
import type { Endpoint } from '../config.ts';
import type { Parameter } from '../read/query.ts';
import { StatementError, statementError } from './errors.ts';
import { NOBODY, openLogin } from './login.ts';
import { chunkIn, manifestIn, type Chunk, type Manifest, type ResultRow } from './result.ts';
import { JSON_ROWS, type ResultFormat } from './result-format.ts';

/** Beyond the seconds that a first answer may wait. */
const ANSWER_MS = 120_000;
const CANCEL_MS = 1500;
/** How long a stopped run waits for the name of a statement that is to be cancelled. */
const LEFT_MS = 500;
const FIRST_POLL_MS = 50;
const STATEMENTS = '/api/2.0/sql/statements';

export interface Statement {
  readonly text: string;
  readonly parameters?: readonly Parameter[];
  /** Rows of the result at most. */
  readonly limit?: number | undefined;
  /** Whether the result is fetched from the storage of the workspace. */
  readonly usesLinks?: boolean;
  /** Whether running it twice does what running it once does. */
  readonly isRepeatable: boolean;
}

export interface Result<Row = ResultRow> extends Manifest {
  /** The rows, chunk by chunk. */
  chunks(this: void): AsyncGenerator<readonly Row[], void>;
}

type FormatName = ResultFormat<unknown>['name'];

interface RunningResult<Row> {
  readonly id: string;
  /** How many the server says it has. */
  readonly rows: number | undefined;
  readonly format: ResultFormat<Row>;
}

export interface WorkspaceRequest extends Pick<HttpRequest, 'method' | 'body'> {
  readonly path: string;
  readonly isLast?: boolean;
}

export interface Polling {
  /** Between two looks at a statement. */
  readonly pollMs: number;
  readonly retry: RequestRetry;
}

export type LinkContext = PartContext & { readonly retry?: RetryPolicy };

export class Link {
  readonly #config: Endpoint;
  readonly #context: LinkContext;
  readonly #polling: Polling;
  readonly #base: string;
  readonly #connections: Connections;
  readonly #options: Omit<HttpClientOptions, 'provider' | 'homes'>;
  readonly #client: HttpClient;
  /** Ends what may go on when the run is stopped. */
  readonly #closed = new AbortController();
  readonly #running = new Set<string>();
  /** First answers that nobody waits for any more. */
  readonly #left = new Set<Promise<JsonObject>>();

  private constructor(
    config: Endpoint,
    context: LinkContext,
    { polling, connections }: { readonly polling: Polling; readonly connections: Connections },
  ) {
    const { env, signal } = context;
    this.#config = config;
    this.#context = context;
    this.#polling = polling;
    this.#base = baseOf(config);
    this.#connections = connections;
    this.#options = {
      env,
      signal,
      timeoutMs: timeoutOf(config),
      retry: NO_RETRY,
      fetch: connections.fetch,
    };
    const provider = openLogin(config, context);
    this.#client = new HttpClient({ ...this.#options, provider, homes: [this.#base] });
  }

  static async open(config: Endpoint, context: LinkContext, polling: Polling): Promise<Link> {
    const timeoutMs = timeoutOf(config);
    const connections = await openConnections({ timeoutMs }, context.env);
    return new Link(config, context, { polling, connections });
  }

  /** Runs a statement to its end; one that failed is repeated where that does no harm. */
  run(statement: Statement): Promise<Result> {
    return this.runAs(statement, JSON_ROWS);
  }

  /** The same, with a result of that format. */
  async runAs<Row>(statement: Statement, format: ResultFormat<Row>): Promise<Result<Row>> {
    const answer = await this.#repeat(
      async () => this.#ended(await this.#started(statement, format.name)),
      // A statement that the server has ended did nothing.
      (error) => error instanceof StatementError && error.kind !== 'timeout',
    );
    const id = jsonText(answer['statement_id'] ?? null);
    const manifest = manifestIn(answer);
    if (manifest.isTruncated && statement.limit === undefined)
      throw new ConnectorError('data', 'the server gives only a part of the result', {
        hint: 'set `external_links: true`, or select less',
      });
    const [first, { rows }] = [chunkIn(answer['result']), manifest];
    return { ...manifest, chunks: () => this.#chunks({ id, rows, format }, first) };
  }

  /** All rows of a small result. */
  async rows(text: string, parameters: readonly Parameter[] = []): Promise<readonly ResultRow[]> {
    const result = await this.run({ text, parameters, isRepeatable: true });
    const rows: ResultRow[] = [];
    for await (const some of result.chunks()) rows.push(...some);
    return rows;
  }

  /** Another request to the workspace. `isLast`: it is sent for a run that was stopped, too. */
  async ask({ path, isLast = false, ...rest }: WorkspaceRequest): Promise<HttpAnswer> {
    const client = isLast ? this.#client.under(this.#closed.signal) : this.#client;
    return this.#repeat(() => client.send({ ...rest, url: this.#base + path }));
  }

  /** Cancels what still runs. */
  async close(): Promise<void> {
    if (this.#left.size > 0)
      await Promise.race([
        this.#context.env.clock.sleep(LEFT_MS, this.#closed.signal).catch(() => {}),
        Promise.allSettled([...this.#left].map((answer) => this.#cancelWhenKnown(answer))),
      ]);
    await Promise.all([...this.#running].map((id) => this.#cancel(id)));
    this.#closed.abort();
    await this.#connections.close().catch(() => {});
  }

  #started(statement: Statement, format: FormatName): Promise<JsonObject> {
    return this.#repeat(
      () => this.#submit(statement, format),
      (error) => statement.isRepeatable || wasNotTaken(error),
    );
  }

  async #ended(started: JsonObject): Promise<JsonObject> {
    let answer = started;
    const id = jsonText(answer['statement_id'] ?? null);
    this.#running.add(id);
    const { env, signal } = this.#context;
    const { statement_timeout_secs: most, wait_timeout_secs: waited } = this.#config;
    const untilMs = most === 0 ? Infinity : env.clock.elapsedMs() + (most - waited) * 1000;
    const isInTime = (): boolean => env.clock.elapsedMs() < untilMs;
    let waitMs = Math.min(FIRST_POLL_MS, this.#polling.pollMs);
    try {
      while (isWorking(answer)) {
        if (!isInTime()) throw this.#tooLong();
        await env.clock.sleep(waitMs, signal);
        signal.throwIfAborted();
        waitMs = Math.min(this.#polling.pollMs, waitMs * 2);
        answer = await this.#repeat(() => this.#exchange('GET', `/${id}`), isInTime);
      }
    } catch (error) {
      await this.#cancel(id);
      throw error;
    }
    this.#running.delete(id);
    const { status } = answer;
    const state = stateOf(answer);
    if (state === 'SUCCEEDED') return answer;
    if (state === 'CLOSED')
      throw new ConnectorError('data', 'the result of a statement is no longer there');
    throw statementError(status, env.redactor);
  }

  #tooLong(): ConnectorError {
    const { statement_timeout_secs: most } = this.#config;
    return new ConnectorError('timeout', `a statement has not ended after ${most} seconds`, {
      hint: 'raise `statement_timeout_secs`, or use a larger warehouse',
    });
  }

  /**
   * A statement has no name before its first answer: that of a stopped run is waited for, so that the
   * statement can be cancelled.
   */
  async #submit(statement: Statement, format: FormatName): Promise<JsonObject> {
    const { signal } = this.#context;
    signal.throwIfAborted();
    const client = this.#client.under(this.#closed.signal);
    const body = { json: this.#bodyOf(statement, format) };
    const answer = this.#exchange('POST', '', { body, client });
    try {
      return await untilAborted(answer, signal);
    } catch (error) {
      if (signal.aborted) this.#left.add(answer);
      throw error;
    }
  }

  #bodyOf(
    { text, parameters = [], limit, usesLinks = false }: Statement,
    format: FormatName,
  ): JsonObject {
    const { warehouse_id, catalog, schema, wait_timeout_secs: wait } = this.#config;
    return {
      statement: text,
      warehouse_id,
      ...(catalog === undefined ? {} : { catalog }),
      ...(schema === undefined ? {} : { schema }),
      ...(parameters.length === 0
        ? {}
        : {
            parameters: parameters.map(({ name, value, type }) => ({
              name,
              type,
              ...(value === null ? {} : { value }),
            })),
          }),
      ...(limit === undefined ? {} : { row_limit: limit }),
      disposition: usesLinks ? 'EXTERNAL_LINKS' : 'INLINE',
      format,
      wait_timeout: `${wait}s`,
      on_wait_timeout: 'CONTINUE',
    };
  }

  /** The next chunk is on its way while one is worked on. */
  async *#chunks<Row>(
    { id, rows: total, format }: RunningResult<Row>,
    first: Chunk,
  ): AsyncGenerator<readonly Row[], void> {
    let count = 0;
    let chunk: Chunk | undefined = first;
    let at = 0;
    while (chunk !== undefined) {
      const following: Promise<Chunk | undefined> =
        chunk.next === undefined ? Promise.resolve(undefined) : this.#chunk(id, chunk.next);
      following.catch(() => {});
      const what = `chunk ${at} of the result`;
      const rows =
        chunk.link === undefined
          ? format.inline(chunk.data)
          : format.linked(await this.#linked(id, at, chunk), what);
      count += rows.length;
      yield rows;
      at = chunk.next ?? at;
      chunk = await following;
    }
    if (total === undefined || count === total) return;
    throw new ConnectorError(
      'connection',
      `the result has ${total} rows, and ${count} of them came`,
      { hint: 'run it again' },
    );
  }

  async #chunk(id: string, index: number): Promise<Chunk> {
    return this.#repeat(async () =>
      chunkIn(await this.#exchange('GET', `/${id}/result/chunks/${index}`)),
    );
  }

  /** What is behind a link. A link ends after some minutes: then there is a new one. */
  async #linked(id: string, index: number, { link }: Chunk): Promise<Uint8Array> {
    let current = link;
    return this.#repeat(async () => {
      current ??= (await this.#chunk(id, index)).link;
      const { url = '', headers = {} } = current ?? {};
      current = undefined;
      // The link is a login, which no message may hold.
      this.#context.env.redactor.register(URL.parse(url)?.search.slice(1) ?? '');
      try {
        const store = new HttpClient({ ...this.#options, provider: NOBODY, homes: [url] });
        return (await store.send({ method: 'GET', url, headers })).bytes;
      } catch (error) {
        throw this.#linkError(error, index);
      }
    });
  }

  #linkError(error: unknown, index: number): unknown {
    if (this.#context.signal.aborted || !(error instanceof ConnectorError)) return error;
    const { status } = error;
    const kind = status === 403 || status === 401 ? 'connection' : error.kind;
    const why = status === undefined ? error.kind : `the store answers ${status}`;
    const what = `chunk ${index} of the result could not be fetched from the store`;
    return new ConnectorError(kind, `${what}: ${why}`, {
      hint: 'this machine must reach the storage of the workspace; else leave out `external_links` and `arrow_native`',
    });
  }

  async #exchange(
    method: string,
    path: string,
    { body, client = this.#client }: { body?: HttpRequest['body']; client?: HttpClient } = {},
  ): Promise<JsonObject> {
    const url = `${this.#base}${STATEMENTS}${path}`;
    const { bytes, shownUrl } = await client.send({ method, url, body }).catch((error: unknown) => {
      throw withOwnHint(error);
    });
    const answer = jsonBody(bytes, `the answer of ${shownUrl}`);
    if (isObject(answer)) return answer;
    throw new ConnectorError('data', 'the answer is none of the Statement Execution API', {
      hint: 'check `workspace_url`',
    });
  }

  async #repeat<T>(
    work: () => Promise<T>,
    isHarmless: (error: ConnectorError) => boolean = () => true,
  ): Promise<T> {
    const { env, signal } = this.#context;
    for (let attempt = 0; ; attempt += 1) {
      try {
        return await work();
      } catch (error) {
        if (signal.aborted || !(error instanceof ConnectorError) || !isHarmless(error)) throw error;
        // What was repeated inside of this, and in vain.
        if (isSpent(error)) throw error;
        const waitMs = waitBeforeRetry(error, attempt, this.#polling.retry);
        if (waitMs === undefined) throw error;
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

  async #cancelWhenKnown(answer: Promise<JsonObject>): Promise<void> {
    const { statement_id: id = null } = await answer;
    this.#running.add(jsonText(id));
  }

  /** Nobody waits for what was stopped. */
  async #cancel(id: string): Promise<void> {
    if (!this.#running.delete(id)) return;
    const url = `${this.#base}${STATEMENTS}/${id}/cancel`;
    await this.#client
      .under(AbortSignal.timeout(CANCEL_MS))
      .send({ method: 'POST', url })
      .catch(() => {});
  }
}

function timeoutOf({ wait_timeout_secs: wait }: Endpoint): number {
  return wait * 1000 + ANSWER_MS;
}

function stateOf({ status }: JsonObject): string {
  return isObject(status) ? jsonText(status['state'] ?? null) : '';
}

function isWorking(answer: JsonObject): boolean {
  const state = stateOf(answer);
  return state === 'PENDING' || state === 'RUNNING';
}

const [NOT_FOUND, TOO_MANY, UNAVAILABLE] = [404, 429, 503];

function withOwnHint(error: unknown): unknown {
  if (!(error instanceof ConnectorError) || error.status !== NOT_FOUND) return error;
  const hint = 'check `workspace_url` and `warehouse_id`';
  return new ConnectorError(error.kind, error.message, { hint, status: NOT_FOUND });
}

/** Whether the server had no room for the request, and so has not begun with it. */
function wasNotTaken({ status }: ConnectorError): boolean {
  return status === TOO_MANY || status === UNAVAILABLE;
}
