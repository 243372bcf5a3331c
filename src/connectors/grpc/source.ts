import type { SourceContext } from '../../kit/context.ts';
import type { Page } from '../../kit/page.ts';
import type { ReadRequest, Source } from '../../kit/source.ts';
import { ConnectorError, isTransient } from '../../lib/errors.ts';
import { stringifyJson, type JsonValue } from '../../lib/text/json.ts';
import { backoffMs } from '../../lib/time/backoff.ts';
import { readAgain } from '../_brokers/read-again.ts';
import { answerSource } from '../_http/answer-source.ts';
import { Arrivals, pagesOf } from '../_http/arrivals.ts';
import { compileRecords } from '../_http/json-path.ts';
import { GrpcClient, type AnswerStream } from './client.ts';
import type { GrpcConfig } from './config.ts';
import { loadMethod, type GrpcMethod } from './descriptors.ts';

export async function openGrpc(config: GrpcConfig, context: SourceContext): Promise<Source> {
  const method = await loadMethod(config, context.env.cwd);
  const client = await GrpcClient.open(config, method, context);
  const { records_path: path, batch_size: batchSize } = config;
  const records = path === undefined ? (answer: JsonValue) => [answer] : compileRecords(path);
  if (config.rpc_kind === 'server_streaming')
    return new GrpcStream({ config, context, client, method, records });
  const again = readAgain(context);
  return answerSource({
    async *answers() {
      yield records(method.decode(await again(() => client.ask())));
    },
    connections: { fetch: undefined, close: () => Promise.resolve(client.close()) },
    context,
    batchSize,
  });
}

interface StreamSetup {
  readonly config: GrpcConfig;
  readonly context: SourceContext;
  readonly client: GrpcClient;
  readonly method: GrpcMethod;
  readonly records: (answer: JsonValue) => readonly JsonValue[];
}

/** Messages of a stream, which is called again where it breaks off. */
class GrpcStream implements Source {
  readonly #setup: StreamSetup;
  readonly #arrivals: Arrivals;
  readonly #over = new AbortController();
  #stream: AnswerStream | undefined;
  /** Messages that were taken. */
  #taken = 0;
  /** Messages of this call that were taken before it. */
  #toPassOver = 0;
  /** Calls in a row that gave nothing new. */
  #attempts = 0;

  constructor(setup: StreamSetup) {
    this.#setup = setup;
    const { pageBytes } = setup.context;
    this.#arrivals = new Arrivals(pageBytes, (isFull) => this.#stream?.pause(isFull));
  }

  async *pages({ lane, limit }: ReadRequest): AsyncGenerator<Page> {
    const { config, context } = this.#setup;
    const { signal, pageBytes, env } = context;
    signal.throwIfAborted();
    void this.#keepReading();
    const { clock } = env;
    const batchSize = config.batch_size;
    try {
      yield* pagesOf(this.#arrivals, { lane, limit, batchSize, pageBytes, clock, signal });
    } finally {
      await this.close();
    }
  }

  close(): Promise<void> {
    this.#over.abort();
    this.#arrivals.end();
    this.#stream?.cancel();
    this.#setup.client.close();
    return Promise.resolve();
  }

  /** Never rejects: a failure is the end of the arrivals. */
  async #keepReading(): Promise<void> {
    const { config, context } = this.#setup;
    const { reconnect_max_attempts: most = Infinity, terminate_on_error: ends } = config;
    const { env } = context;
    while (!this.#arrivals.hasEnded) {
      const failure = await this.#readOnce().catch((error: unknown) => error);
      if (this.#arrivals.hasEnded) return;
      if (failure === undefined) return this.#arrivals.end();
      const mayHelp = failure instanceof ConnectorError && isTransient(failure.kind);
      if (ends || !mayHelp || this.#attempts >= most) return this.#arrivals.end({ error: failure });
      const waitMs = this.#pauseMs();
      this.#attempts += 1;
      const { message: error } = failure;
      env.log.warn('calling the method again', { attempt: this.#attempts, error });
      await env.clock.sleep(waitMs, this.#over.signal);
    }
  }

  #pauseMs(): number {
    const { reconnect_initial_backoff: first, reconnect_max_backoff: longest } = this.#setup.config;
    const policy = { baseMs: first * 1000, maxMs: longest * 1000 };
    return backoffMs({ backoff: 'exponential', jitter: false, ...policy }, this.#attempts);
  }

  /** Undefined when the server has ended the stream because it has nothing more to send. */
  async #readOnce(): Promise<unknown> {
    const { client, config } = this.#setup;
    this.#toPassOver = config.reconnect_replay_from_start ? this.#taken : 0;
    const { promise, resolve } = Promise.withResolvers<unknown>();
    this.#stream = await client.stream({
      onMessage: (bytes) => this.#take(bytes),
      onEnd: resolve,
    });
    if (this.#arrivals.hasEnded) this.#stream.cancel();
    else if (this.#arrivals.isFull) this.#stream.pause(true);
    return promise;
  }

  #take(bytes: Buffer): void {
    const { config, method, records } = this.#setup;
    if (this.#arrivals.hasEnded) return;
    if (this.#toPassOver > 0) {
      this.#toPassOver -= 1;
      return;
    }
    this.#attempts = 0;
    try {
      for (const value of records(method.decode(bytes)))
        this.#arrivals.push({ value, size: Buffer.byteLength(stringifyJson(value)) });
    } catch (error) {
      return this.#arrivals.end({ error });
    }
    this.#taken += 1;
    if (this.#taken >= (config.max_messages ?? Infinity)) this.#arrivals.end();
  }
}
