/** Statements over the SQL REST API: sent, waited for, cancelled, and their results in partitions. */
import { randomUUID } from 'node:crypto';
import type { PartContext, RetryPolicy } from '../../../kit/context.ts';
import { ConnectorError } from '../../../lib/errors.ts';
import { isObject, jsonText, type JsonObject, type JsonValue } from '../../../lib/text/json.ts';
import { jsonBody } from '../../_http/body.ts';
import { HttpClient, type HttpAnswer, type HttpRequest } from '../../_http/client.ts';
import { openConnections, type Connections } from '../../_http/connections.ts';
import {
  ALL_TRANSIENT,
  NO_RETRY,
  requestRetry,
  waitBeforeRetry,
  type RequestRetry,
} from '../../_http/retry.ts';
import { baseOf } from '../address.ts';
import type { Endpoint } from '../config.ts';
import type { QueryPairs } from '../../_http/url.ts';
import { foldedName } from '../../_sql/folded-names.ts';
import type { Binding } from '../read/query.ts';
import { serverError } from './errors.ts';
import { openLogin } from './login.ts';

/** The server answers after 45 seconds at the latest; a large partition takes longer to come. */
const TIMEOUT_MS = 180_000;
const RETRY: RequestRetry = {
  maxRetries: 4,
  backoff: 'exponential',
  baseMs: 500,
  maxMs: 30_000,
  jitter: true,
  on: ALL_TRANSIENT,
};
const CANCEL_MS = 2000;
const FIRST_POLL_MS = 50;
const LAST_POLL_MS = 3000;

const PATH = '/api/v2/statements';

/** What the client reads: done, still working, ended by a limit, refused. */
const [DONE, WORKING, TIMED_OUT, REFUSED] = [200, 202, 408, 422];

export interface Statement {
  readonly text: string;
  readonly bindings?: readonly Binding[];
  /** Statements in the text; 1 unless given. */
  readonly count?: number;
  /** Seconds after which the server ends it. */
  readonly timeoutSecs?: number | undefined;
  /** Rows of the result at most. */
  readonly limit?: number | undefined;
  /** Whether the server answers before it has ended, so that it can be cancelled at any time. */
  readonly isAsync?: boolean;
}

export interface ColumnInfo {
  readonly name: string;
  /** In lower case. */
  readonly type: string;
  readonly precision?: number | undefined;
  readonly scale?: number | undefined;
  readonly nullable: boolean;
}

export type ResultRow = readonly (string | null)[];

export interface Result {
  readonly columns: readonly ColumnInfo[];
  readonly partitions: number;
  /** Fetches one; the first came with the answer. */
  rows(this: void, partition: number): Promise<readonly ResultRow[]>;
}

export type SessionContext = PartContext & { readonly retry?: RetryPolicy };

export class Session {
  readonly #config: Endpoint;
  readonly #context: SessionContext;
  readonly #base: string;
  readonly #connections: Connections;
  readonly #client: HttpClient;
  readonly #retry: RequestRetry;
  readonly #running = new Set<string>();

  private constructor(config: Endpoint, context: SessionContext, connections: Connections) {
    const { env, signal } = context;
    this.#config = config;
    this.#context = context;
    this.#base = baseOf(config);
    this.#connections = connections;
    this.#retry = requestRetry(context.retry, RETRY, {});
    this.#client = new HttpClient({
      env,
      signal,
      provider: openLogin(config, context),
      homes: [this.#base],
      timeoutMs: TIMEOUT_MS,
      retry: NO_RETRY,
      accepts: ({ status }) => status === TIMED_OUT || status === REFUSED,
      fetch: connections.fetch,
    });
  }

  static async open(config: Endpoint, context: SessionContext): Promise<Session> {
    const connections = await openConnections({ timeoutMs: TIMEOUT_MS }, context.env);
    return new Session(config, context, connections);
  }

  /** Runs a statement to its end. */
  async run(statement: Statement): Promise<Result> {
    const answer = await this.#ended(statement);
    const handle = jsonText(answer['statementHandle'] ?? null);
    const about = answer['resultSetMetaData'];
    if (!isObject(about)) throw notOurs();
    const { rowType = [], partitionInfo = [] } = about;
    const counts = (Array.isArray(partitionInfo) ? partitionInfo : []).map(rowCountIn);
    const isWhole = statement.limit === undefined;
    return {
      columns: (Array.isArray(rowType) ? rowType : []).filter(isObject).map(columnOf),
      partitions: Math.max(1, counts.length),
      rows: async (partition) => {
        const whole = (body: JsonObject): readonly ResultRow[] =>
          wholePartition(partition, rowsIn(body['data']), isWhole ? counts[partition] : undefined);
        if (partition === 0) return whole(answer);
        const query = [['partition', String(partition)]] as const;
        return this.#repeat(async () => whole(await this.#ask(`/${handle}`, query)));
      },
    };
  }

  /** All rows of a small result. */
  async rows(text: string, bindings: readonly Binding[] = []): Promise<readonly ResultRow[]> {
    const result = await this.run({ text, bindings });
    const rows: ResultRow[] = [];
    for (let at = 0; at < result.partitions; at += 1) rows.push(...(await result.rows(at)));
    return rows;
  }

  /** Cancels what still runs. */
  async close(): Promise<void> {
    await Promise.all([...this.#running].map((handle) => this.#cancel(handle)));
    await this.#connections.close().catch(() => {});
  }

  async #ended(statement: Statement): Promise<JsonObject> {
    let answer = await this.#submit(statement);
    if (answer.status !== WORKING) return answer.body;
    const handle = jsonText(answer.body['statementHandle'] ?? null);
    this.#running.add(handle);
    const { env, signal } = this.#context;
    const { poll_timeout: most } = this.#config;
    const untilMs = most === 0 ? Infinity : env.clock.elapsedMs() + most * 1000;
    const isInTime = (): boolean => env.clock.elapsedMs() < untilMs;
    let waitMs = FIRST_POLL_MS;
    try {
      while (answer.status === WORKING) {
        if (!isInTime()) throw this.#tooLong();
        await env.clock.sleep(waitMs, signal);
        signal.throwIfAborted();
        waitMs = Math.min(LAST_POLL_MS, waitMs * 2);
        answer = await this.#repeat(() => this.#exchange('GET', `/${handle}`, {}), isInTime);
      }
      this.#running.delete(handle);
      return answer.body;
    } catch (error) {
      await this.#cancel(handle);
      throw error;
    }
  }

  #tooLong(): ConnectorError {
    const { poll_timeout: most } = this.#config;
    return new ConnectorError('timeout', `a statement has not ended after ${most} seconds`, {
      hint: 'raise `poll_timeout`, or use a larger `warehouse`',
    });
  }

  /** One that is sent again is the same request to the server, which runs it only once. */
  #submit(statement: Statement): Promise<Answered> {
    const id = randomUUID();
    const body = { json: this.#bodyOf(statement) };
    return this.#repeat((attempt) =>
      this.#exchange('POST', '', {
        query: [
          ['requestId', id],
          ...(attempt === 0 ? [] : [['retry', 'true'] as const]),
          ...(statement.isAsync === true ? [['async', 'true'] as const] : []),
        ],
        body,
      }),
    );
  }

  #bodyOf({ text, bindings = [], count = 1, timeoutSecs, limit }: Statement): JsonObject {
    const { warehouse, role, database, schema } = this.#config;
    const named = { warehouse, role, database, schema };
    return {
      statement: text,
      ...Object.fromEntries(
        Object.entries(named)
          .filter((one): one is [string, string] => one[1] !== undefined)
          .map(([name, value]) => [name, foldedName(value)]),
      ),
      ...(timeoutSecs === undefined ? {} : { timeout: timeoutSecs }),
      ...(bindings.length === 0
        ? {}
        : {
            bindings: Object.fromEntries(bindings.map((one, at) => [String(at + 1), { ...one }])),
          }),
      parameters: {
        timezone: 'UTC',
        binary_output_format: 'HEX',
        ...(limit === undefined ? {} : { rows_per_resultset: String(limit) }),
        ...(count === 1 ? {} : { MULTI_STATEMENT_COUNT: String(count) }),
      },
    };
  }

  /** A part of a statement that has ended. */
  async #ask(path: string, query: QueryPairs): Promise<JsonObject> {
    const { status, body } = await this.#exchange('GET', path, { query });
    if (status === DONE) return body;
    throw new ConnectorError('connection', 'the server does not give a part of the result yet', {
      hint: 'run it again',
    });
  }

  async #exchange(
    method: string,
    path: string,
    rest: Pick<HttpRequest, 'query' | 'body'>,
  ): Promise<Answered> {
    const answer = await this.#client.send({
      method,
      url: `${this.#base}${PATH}${path}`,
      ...rest,
      headers: { accept: 'application/json' },
    });
    const body = objectIn(answer);
    if (answer.status === DONE || answer.status === WORKING) return { status: answer.status, body };
    throw serverError(body, this.#context.env.redactor);
  }

  async #repeat<T>(
    work: (attempt: number) => Promise<T>,
    isWorthIt: () => boolean = () => true,
  ): Promise<T> {
    const { env, signal } = this.#context;
    for (let attempt = 0; ; attempt += 1) {
      try {
        return await work(attempt);
      } catch (error) {
        // What the server says of a statement it says again.
        if (signal.aborted || !(error instanceof ConnectorError) || !isOfTransport(error))
          throw error;
        if (!isWorthIt()) throw error;
        const waitMs = waitBeforeRetry(error, attempt, this.#retry);
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

  /** Nobody waits for what was stopped. */
  async #cancel(handle: string): Promise<void> {
    if (!this.#running.delete(handle)) return;
    const signal = AbortSignal.timeout(CANCEL_MS);
    const url = `${this.#base}${PATH}/${handle}/cancel`;
    await this.#client
      .under(signal)
      .send({ method: 'POST', url })
      .catch(() => {});
  }
}

interface Answered {
  readonly status: number;
  readonly body: JsonObject;
}

function isOfTransport(error: ConnectorError): boolean {
  return !('serverCode' in error);
}

function objectIn(answer: HttpAnswer): JsonObject {
  const body = jsonBody(answer.bytes, `the answer of ${answer.shownUrl}`);
  if (isObject(body)) return body;
  throw notOurs();
}

function notOurs(): ConnectorError {
  return new ConnectorError('data', 'the answer is none of the SQL API of Snowflake', {
    hint: 'check `account` and `endpoint_url`',
  });
}

function rowCountIn(partition: JsonValue): number | undefined {
  const count = isObject(partition) ? partition['rowCount'] : undefined;
  return typeof count === 'number' ? count : undefined;
}

/** `told`: how many rows the server says it has. */
function wholePartition(
  partition: number,
  rows: readonly ResultRow[],
  told: number | undefined,
): readonly ResultRow[] {
  if (told === undefined || rows.length === told) return rows;
  const said = `part ${partition} of the result has ${told} rows, and ${rows.length} of them came`;
  throw new ConnectorError('connection', said, { hint: 'run it again' });
}

function rowsIn(data: JsonValue | undefined): readonly ResultRow[] {
  if (!Array.isArray(data)) return [];
  return data
    .filter((row) => Array.isArray(row))
    .map((row) => row.map((cell) => (cell === null ? null : jsonText(cell))));
}

function columnOf(info: JsonObject): ColumnInfo {
  const number = (value: JsonValue | undefined): number | undefined =>
    typeof value === 'number' ? value : undefined;
  return {
    name: jsonText(info['name'] ?? null),
    type: jsonText(info['type'] ?? null).toLowerCase(),
    precision: number(info['precision']),
    scale: number(info['scale']),
    nullable: info['nullable'] !== false,
  };
}
