import type { SinkContext } from '../../kit/context.ts';
import type { Page } from '../../kit/page.ts';
import {
  requireOpen,
  type Rejection,
  type Sink,
  type WriteOptions,
  type WriteResult,
} from '../../kit/sink.ts';
import { settle } from '../../kit/write-spec.ts';
import { ConnectorError, RecordError, type ErrorKind } from '../../lib/errors.ts';
import { Gate } from '../../lib/gate.ts';
import type { JsonValue } from '../../lib/text/json.ts';
import { HttpClient } from '../_http/client.ts';
import { openConnections, type Connections } from '../_http/connections.ts';
import { ALL_TRANSIENT, NO_RETRY, requestRetry, type RequestRetry } from '../_http/retry.ts';
import type { HttpConfig } from './config.ts';

/**
 * Sends records as JSON. A response means that the records are stored, so there is nothing to flush.
 */
export class HttpSink implements Sink {
  readonly #config: HttpConfig;
  readonly #context: SinkContext;
  readonly #client: HttpClient;
  readonly #connections: Connections;
  #isClosed = false;

  constructor(config: HttpConfig, context: SinkContext, connections: Connections) {
    this.#config = config;
    this.#context = context;
    this.#connections = connections;
    this.#client = httpSinkClient(config, context, connections);
  }

  async write(page: Page, { partial }: WriteOptions): Promise<WriteResult> {
    requireOpen(this.#isClosed);
    const records = page.records();
    if (this.#config.batch_mode.type === 'Array') return this.#writeArrays(records);
    return this.#writeOneByOne(records, partial);
  }

  async flush(): Promise<void> {}

  async finish(): Promise<void> {}

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#connections.close().catch(() => {});
  }

  async #writeArrays(records: readonly JsonValue[]): Promise<WriteResult> {
    const size =
      this.#config.batch_size === 0 ? Math.max(records.length, 1) : this.#config.batch_size;
    for (let from = 0; from < records.length; from += size)
      await this.#send(records.slice(from, from + size));
    return { written: records.length, rejected: [] };
  }

  /** Every record is tried, whatever happens to the others. */
  async #writeOneByOne(records: readonly JsonValue[], partial: boolean): Promise<WriteResult> {
    const gate = new Gate(this.#config.concurrency);
    const rejected: Rejection[] = [];
    const tries = records.map(async (record, index) => {
      const leave = await gate.enter(this.#context.signal);
      try {
        await this.#send(record);
      } catch (error) {
        if (!(error instanceof ConnectorError)) throw error;
        rejected.push({ index, error: asRecordError(error) });
      } finally {
        leave();
      }
    });
    const outcomes = await Promise.allSettled(tries);
    this.#context.signal.throwIfAborted();
    for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason;
    rejected.sort((a, b) => a.index - b.index);
    const [first] = rejected;
    // Without a dead-letter queue the page fails with the error of its first record, which may be
    // transient.
    if (!partial && first?.error.cause instanceof ConnectorError) throw first.error.cause;
    return settle(records.length, rejected, partial);
  }

  async #send(json: JsonValue): Promise<void> {
    await this.#client.send({ method: this.#config.method, url: this.#config.url, body: { json } });
  }
}

export function httpSinkClient(
  config: HttpConfig,
  context: SinkContext,
  connections: Connections,
): HttpClient {
  return new HttpClient({
    env: context.env,
    signal: context.signal,
    provider: context.credentials.resolve(config.auth),
    homes: [config.url],
    timeoutMs: config.timeout * 1000,
    timeoutField: 'timeout',
    retry: retryOf(config, context),
    keepsBody: true,
    fetch: connections.fetch,
  });
}

/** `max_retries` says how often; without it, `resilience.retry` of the document does. */
function retryOf({ max_retries: own }: HttpConfig, { retry }: SinkContext): RequestRetry {
  const atOnce = { ...NO_RETRY, on: ALL_TRANSIENT };
  return requestRetry(retry, atOnce, own === 0 ? {} : { maxRetries: own });
}

export async function openHttpSink(config: HttpConfig, context: SinkContext): Promise<Sink> {
  const connections = await openConnections(
    { connectTimeoutMs: config.connect_timeout * 1000, timeoutMs: config.timeout * 1000 },
    context.env,
  );
  return new HttpSink(config, context, connections);
}

const RECORD_KINDS: Readonly<Record<ConnectorError['kind'], ErrorKind>> = {
  connection: 'Http',
  timeout: 'Http',
  rate_limited: 'RateLimited',
  http_5xx: 'HttpStatus',
  auth: 'HttpStatus',
  missing: 'HttpStatus',
  refused: 'HttpStatus',
  data: 'Sink',
};

function asRecordError(error: ConnectorError): RecordError {
  return new RecordError(RECORD_KINDS[error.kind], error.message, {
    cause: error,
    ...(error.hint === undefined ? {} : { hint: error.hint }),
  });
}
