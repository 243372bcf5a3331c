import type { Redis } from 'ioredis';
import { ConnectorError, isTransient } from '../../lib/errors.ts';
import { connectRedis, redisError } from '../../lib/redis/redis.ts';
import type { Redactor } from '../../lib/redact.ts';
import { percentDecoded } from '../../lib/text/percent-decoded.ts';
import { untilAborted } from '../../lib/until-aborted.ts';

const CONNECT_MS = 10_000;
const COMMAND_MS = 60_000;

export interface LinkOptions {
  readonly url: string;
  readonly signal: AbortSignal;
  readonly redactor: Pick<Redactor, 'register'>;
  /** What to do where a key holds another kind of value. */
  readonly wrongType: string;
}

/**
 * A connection that is made by the first command, and again by the first one after it was lost. No
 * command is repeated: whoever sent it knows whether that is safe.
 */
export class RedisLink {
  readonly #options: LinkOptions;
  #redis: Redis | undefined;
  #isClosed = false;

  constructor(options: LinkOptions) {
    this.#options = options;
    const { password } = new URL(options.url);
    if (password === '') return;
    options.redactor.register(password);
    options.redactor.register(percentDecoded(password));
  }

  /** Failures are `ConnectorError`s that begin with `doing`. */
  async run<T>(doing: string, work: (redis: Redis) => Promise<T>): Promise<T> {
    const { signal, wrongType } = this.#options;
    signal.throwIfAborted();
    try {
      return await untilAborted(this.#connected(doing).then(work), signal);
    } catch (error) {
      if (signal.aborted && error === signal.reason) {
        this.#drop();
        throw error;
      }
      const failure = redisError(error, doing, wrongType);
      if (isTransient(failure.kind)) this.#drop();
      throw failure;
    }
  }

  close(): void {
    this.#isClosed = true;
    this.#drop();
  }

  #drop(): void {
    this.#redis?.disconnect();
    this.#redis = undefined;
  }

  async #connected(doing: string): Promise<Redis> {
    if (this.#redis?.status === 'ready') return this.#redis;
    this.#drop();
    const limits = { connectMs: CONNECT_MS, commandMs: COMMAND_MS };
    const redis = await connectRedis(this.#options.url, limits, doing);
    if (this.#isClosed || this.#options.signal.aborted) {
      redis.disconnect();
      throw new ConnectorError('connection', `${doing}: the connection was closed`);
    }
    this.#redis = redis;
    return redis;
  }
}
