import type { PartContext } from '../../kit/context.ts';
import { awsError } from '../../lib/aws/errors.ts';
import { untilAborted } from '../../lib/until-aborted.ts';

interface Client {
  destroy(): void;
}

/** What a call of a client is given. */
export interface CallOptions {
  readonly abortSignal: AbortSignal;
}

/**
 * A client that is made when it is first needed. Nothing is repeated: whoever asks knows whether
 * that is safe.
 */
export class AwsLink<C extends Client> {
  readonly #open: () => Promise<C>;
  readonly #context: Pick<PartContext, 'signal'>;
  #client: Promise<C> | undefined;

  constructor(context: Pick<PartContext, 'signal'>, open: () => Promise<C>) {
    this.#open = open;
    this.#context = context;
  }

  /** Failures are `ConnectorError`s that begin with `doing`. */
  async ask<T>(
    doing: string,
    send: (client: C, options: CallOptions) => Promise<T>,
    signal = this.#context.signal,
  ): Promise<T> {
    signal.throwIfAborted();
    try {
      const client = await untilAborted((this.#client ??= this.#open()), signal);
      return await untilAborted(send(client, { abortSignal: signal }), signal);
    } catch (error) {
      if (signal.aborted) throw signal.reason;
      throw awsError(error, doing);
    }
  }

  async close(): Promise<void> {
    const client = await this.#client?.catch(() => undefined);
    client?.destroy();
  }
}
