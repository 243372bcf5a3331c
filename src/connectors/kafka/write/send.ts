import { AppError, ConnectorError } from '../../../lib/errors.ts';
import { kafkaError } from '../../../lib/kafka/kafka.ts';
import { untilAborted } from '../../../lib/until-aborted.ts';
import type { KafkaSinkConfig } from '../config.ts';
import type { OutMessage } from './messages.ts';

/** Of messages that are sent together; brokers take a mebibyte for a partition. */
const MOST_BYTES = 700_000;

/** One after the other, so that the order is kept; each waits until it is confirmed. */
export async function sendChunks(
  to: { send(options: { messages: OutMessage[] }): Promise<unknown> },
  messages: readonly OutMessage[],
  { config }: { readonly config: Pick<KafkaSinkConfig, 'batch_size' | 'max_in_flight'> },
): Promise<void> {
  const { batch_size: size, max_in_flight: most } = config;
  const window = size === 0 ? most : Math.min(most, size);
  for (const chunk of chunksOf(messages, window)) {
    try {
      await to.send({ messages: [...chunk] });
    } catch (error) {
      throw kafkaError(error, 'records cannot be written');
    }
  }
}

function* chunksOf(
  messages: readonly OutMessage[],
  most: number,
): Generator<readonly OutMessage[]> {
  let from = 0;
  let bytes = 0;
  for (const [index, { key, value }] of messages.entries()) {
    const size = (key?.length ?? 0) + value.length + 100;
    if (index > from && (index - from >= most || bytes + size > MOST_BYTES)) {
      yield messages.slice(from, index);
      from = index;
      bytes = 0;
    }
    bytes += size;
  }
  if (from < messages.length) yield messages.slice(from);
}

/** The client repeats without an end, and hears no signal. */
export async function withinTime<T>(
  work: Promise<T>,
  { ms, signal, doing = 'records were not confirmed' }: TimeLimit,
): Promise<T> {
  const limit = AbortSignal.timeout(ms);
  try {
    return await untilAborted(work, AbortSignal.any([signal, limit]));
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    if (limit.aborted && !(error instanceof AppError))
      throw new ConnectorError('timeout', `${doing} within ${ms} ms`, { cause: error });
    throw kafkaError(error, doing);
  }
}

export interface TimeLimit {
  readonly ms: number;
  readonly signal: AbortSignal;
  readonly doing?: string;
}
