import type { SourceContext } from '../../kit/context.ts';
import type { Page } from '../../kit/page.ts';
import type { ReadRequest, Source } from '../../kit/source.ts';
import { parseData, type JsonValue } from '../../lib/text/json.ts';
import { utf8Text } from '../_brokers/payload.ts';
import { Arrivals, pagesOf } from '../_http/arrivals.ts';
import { fillPath, valuesOf } from '../_http/placeholders.ts';
import type { WebhookConfig } from './config.ts';
import { Receiver } from './receiver.ts';

const [TAKEN, NO_TEXT, CLOSED] = [200, 400, 503];

export class WebhookSource implements Source {
  readonly #config: WebhookConfig;
  readonly #context: SourceContext;
  readonly #path: string;
  readonly #arrivals: Arrivals;
  readonly #over = new AbortController();
  #receiver: Promise<Receiver> | undefined;
  #count = 0;
  /** Resolves when there is room for more. */
  #room = Promise.resolve();
  #makeRoom: () => void = () => {};

  constructor(config: WebhookConfig, context: SourceContext) {
    this.#config = config;
    this.#context = context;
    this.#path = fillPath(config.path, valuesOf(context.parent));
    this.#arrivals = new Arrivals(context.pageBytes, (isFull) => this.#pause(isFull));
  }

  async *pages({ lane, limit }: ReadRequest): AsyncGenerator<Page> {
    const { batch_size: batchSize, timeout_secs: seconds } = this.#config;
    const { signal, pageBytes, env } = this.#context;
    const { clock } = env;
    signal.throwIfAborted();
    try {
      await this.#listen();
      void clock.sleep(seconds * 1000, this.#over.signal).then(() => this.#arrivals.end());
      yield* pagesOf(this.#arrivals, { lane, limit, batchSize, pageBytes, clock, signal });
    } finally {
      await this.close();
    }
  }

  async close(): Promise<void> {
    this.#over.abort();
    this.#arrivals.end();
    this.#makeRoom();
    const receiver = await this.#receiver?.catch(() => undefined);
    await receiver?.close();
  }

  async #listen(): Promise<void> {
    const { listen_addr: listen, max_body_bytes: maxBodyBytes, auth_token: token } = this.#config;
    const take = (body: Buffer): Promise<number> => this.#take(body);
    this.#receiver = Receiver.open({ listen, path: this.#path, maxBodyBytes, token, take });
    await this.#receiver;
  }

  /** An answer of 200 says that the payload will be written, or is beyond the last one wanted. */
  async #take(body: Buffer): Promise<number> {
    const { max_payloads: most = Infinity } = this.#config;
    const text = utf8Text(body);
    if (text === undefined) return NO_TEXT;
    // Of those that waited, the first may have taken the room.
    while (this.#arrivals.isFull && !this.#arrivals.hasEnded) await this.#room;
    if (this.#count >= most) return TAKEN;
    if (this.#arrivals.hasEnded) return CLOSED;
    this.#arrivals.push({ value: valueOf(text), size: body.length });
    this.#count += 1;
    if (this.#count >= most) this.#arrivals.end();
    return TAKEN;
  }

  /** Senders wait while the sink is slow. */
  #pause(isFull: boolean): void {
    if (!isFull) return this.#makeRoom();
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#room = promise;
    this.#makeRoom = resolve;
  }
}

function valueOf(text: string): JsonValue {
  try {
    return parseData(text);
  } catch {
    return text;
  }
}
