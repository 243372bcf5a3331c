import type { ChannelModel } from 'amqplib';
import type { PartContext } from '../../kit/context.ts';
import { ConnectorError, isTransient } from '../../lib/errors.ts';
import { loadClient } from '../../lib/load-client.ts';
import { percentDecoded } from '../../lib/text/percent-decoded.ts';
import { untilAborted } from '../../lib/until-aborted.ts';
import { rabbitmqError } from './errors.ts';

const CONNECT_MS = 10_000;
const CLOSE_MS = 800;
const KEEP_ALIVE_MS = 20_000;

/**
 * A connection that is made when it is first needed, and again when it is needed after it was lost.
 * Nothing is repeated: whoever sent it knows whether that is safe.
 */
export class RabbitmqLink {
  readonly #url: string;
  readonly #context: PartContext;
  #model: ChannelModel | undefined;
  #isClosed = false;

  constructor(url: string, context: PartContext) {
    this.#url = url;
    this.#context = context;
    const { password } = new URL(url);
    if (password === '') return;
    context.env.redactor.register(password);
    context.env.redactor.register(percentDecoded(password));
  }

  /** Failures are `ConnectorError`s that begin with `doing`. */
  async run<T>(doing: string, work: (model: ChannelModel) => Promise<T>): Promise<T> {
    const { signal } = this.#context;
    signal.throwIfAborted();
    try {
      return await untilAborted(this.#connected().then(work), signal);
    } catch (error) {
      if (signal.aborted && error === signal.reason) throw error;
      const failure = rabbitmqError(error, doing);
      if (isTransient(failure.kind)) await this.drop();
      throw failure;
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.drop();
  }

  /** The server gives what was not acknowledged to others. */
  async drop(): Promise<void> {
    const model = this.#model;
    this.#model = undefined;
    if (model === undefined) return;
    const closed = model.close().catch(() => {});
    await Promise.race([closed, this.#context.env.clock.sleep(CLOSE_MS)]);
  }

  async #connected(): Promise<ChannelModel> {
    if (this.#model !== undefined) return this.#model;
    const { connect } = await loadClient('amqplib', () => import('amqplib'));
    const model = await connect(this.#url, {
      timeout: CONNECT_MS,
      noDelay: true,
      keepAlive: true,
      keepAliveDelay: KEEP_ALIVE_MS,
      clientProperties: { connection_name: 'headgate' },
    });
    // The error is told by what was going on when the connection broke.
    model.on('error', () => {});
    model.on('close', () => {
      if (this.#model === model) this.#model = undefined;
    });
    if (this.#isClosed || this.#context.signal.aborted) {
      await model.close().catch(() => {});
      throw new ConnectorError('connection', 'the connection was closed');
    }
    this.#model = model;
    return model;
  }
}
