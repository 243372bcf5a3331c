/** Messages of a subject as they are published: what nobody reads at that moment is lost. */
import type { Msg, NatsConnection } from '@nats-io/transport-node';
import type { SourceContext } from '../../kit/context.ts';
import { ConnectorError } from '../../lib/errors.ts';
import { Inbox } from '../_brokers/inbox.ts';
import type { MessageQueue } from '../_brokers/message-source.ts';
import type { NatsSourceConfig } from './config.ts';
import { natsError } from './errors.ts';
import type { NatsLink } from './link.ts';
import { sizeOf } from './message.ts';

/** Other clients drop messages when as much as this waits; here the run ends instead. */
const MOST_BYTES = 64 * 1024 * 1024;

export class CoreQueue implements MessageQueue<Msg> {
  readonly #link: NatsLink;
  readonly #config: NatsSourceConfig;
  readonly #context: SourceContext;
  readonly #inbox = new Inbox<Msg>();
  #subscribed: NatsConnection | undefined;
  #bytes = 0;

  constructor(link: NatsLink, config: NatsSourceConfig, context: SourceContext) {
    this.#link = link;
    this.#config = config;
    this.#context = context;
  }

  take(): Msg | undefined {
    const message = this.#inbox.take();
    if (message !== undefined) this.#bytes -= sizeOf(message);
    return message;
  }

  async wait(most: number, ms: number): Promise<void> {
    const { signal, env } = this.#context;
    const isListening = this.#subscribed !== undefined && this.#link.current === this.#subscribed;
    if (this.#inbox.length === 0 && !isListening) await this.#subscribe(most);
    await this.#inbox.arrival(ms, { clock: env.clock, signal });
  }

  async close(): Promise<void> {
    this.#inbox.drain();
    await this.#link.close();
  }

  async #subscribe(most: number): Promise<void> {
    const { subject, queue_group: queue } = this.#config;
    const doing = `\`${subject}\` cannot be read`;
    await this.#link.run(doing, async (nc) => {
      nc.subscribe(subject, {
        // The others of a group must get what this run does not take.
        ...(most === Infinity ? {} : { max: most }),
        ...(queue === undefined ? {} : { queue }),
        callback: (error, message) => {
          if (error === null) this.#add(message);
          else this.#inbox.fail(natsError(error, doing));
        },
      });
      await nc.flush();
      this.#subscribed = nc;
      void nc.closed().then((error) => {
        const lost = error ?? new Error('the connection was lost');
        this.#inbox.fail(natsError(lost, doing));
      });
    });
  }

  #add(message: Msg): void {
    this.#bytes += sizeOf(message);
    if (this.#bytes <= MOST_BYTES) return this.#inbox.push(message);
    this.#bytes -= sizeOf(message);
    const { subject } = this.#config;
    const why = `messages of \`${subject}\` come faster than they are written: ${MOST_BYTES} bytes wait`;
    const hint = 'keep them in a stream of JetStream and read it with a consumer';
    this.#inbox.fail(new ConnectorError('refused', why, { hint }));
  }
}
