import type { NatsConnection } from '@nats-io/transport-node';
import type { ConsumerConfig } from '@nats-io/jetstream';
import { ConnectorError } from '../../lib/errors.ts';
import { loadClient } from '../../lib/load-client.ts';

const NANOSECONDS = 1_000_000;
const ACK_WAIT_MS = 30_000;
const API_MS = 10_000;

/** What a consumer is set to, as far as it matters for reading it. */
export interface ConsumerFacts {
  readonly ackPolicy: 'none' | 'all' | 'explicit';
  /** How long it waits for an acknowledgement before it delivers again. */
  readonly ackWaitMs: number;
  readonly mostOpen: number;
  /** How often it delivers a message that is not acknowledged. */
  readonly mostAttempts: number;
  /** Messages that one request may ask for. */
  readonly mostAtOnce: number;
  readonly mostWaitMs: number;
  /** The subjects that it gives; empty: all of the stream. */
  readonly filters: readonly string[];
  /**
   * Its last delivery, where it is given every message of the stream; a message that it is not given
   * was removed before.
   */
  readonly lastOfAll: Delivered | undefined;
  /** Where messages are asked for. */
  readonly nextSubject: string;
}

/** Numbers of a message: among those that the consumer has delivered, and in the stream. */
export interface Delivered {
  readonly delivery: number;
  readonly sequence: number;
}

export async function manager(nc: NatsConnection) {
  const { jetstreamManager } = await loadClient(
    '@nats-io/jetstream',
    () => import('@nats-io/jetstream'),
  );
  return jetstreamManager(nc, { checkAPI: false, timeout: API_MS });
}

export async function consumerFacts(
  nc: NatsConnection,
  { stream, consumer }: { readonly stream: string; readonly consumer: string },
): Promise<ConsumerFacts> {
  const { consumers } = await manager(nc);
  const { config, delivered } = await consumers.info(stream, consumer);
  if (config.deliver_subject !== undefined && config.deliver_subject !== '')
    throw new ConnectorError('refused', `\`${consumer}\` is a push consumer`, {
      hint: 'make a pull consumer: one without a deliver subject',
    });
  if (config.headers_only === true)
    throw new ConnectorError('refused', `\`${consumer}\` gives headers without their messages`, {
      hint: 'make a consumer without `headers_only`',
    });
  return {
    ackPolicy: config.ack_policy as ConsumerFacts['ackPolicy'],
    ackWaitMs: ackWaitOf(config),
    mostOpen:
      config.ack_policy !== 'none' && isSet(config.max_ack_pending)
        ? config.max_ack_pending
        : Infinity,
    mostAttempts: isSet(config.max_deliver) ? config.max_deliver : Infinity,
    mostAtOnce: isSet(config.max_batch) ? config.max_batch : Infinity,
    mostWaitMs: isSet(config.max_expires) ? config.max_expires / NANOSECONDS : Infinity,
    filters: filtersOf(config),
    lastOfAll:
      filtersOf(config).length > 0 || config.deliver_policy === 'last_per_subject'
        ? undefined
        : { delivery: delivered.consumer_seq, sequence: delivered.stream_seq },
    nextSubject: `$JS.API.CONSUMER.MSG.NEXT.${stream}.${consumer}`,
  };
}

/** How many messages wait for an acknowledgement, and the number of the last delivery of all. */
export async function deliveries(
  nc: NatsConnection,
  { stream, consumer }: { readonly stream: string; readonly consumer: string },
): Promise<{ readonly open: number; readonly last: number }> {
  const { consumers } = await manager(nc);
  const { num_ack_pending: open, delivered } = await consumers.info(stream, consumer);
  return { open, last: delivered.consumer_seq };
}

function isSet(limit: number | undefined): limit is number {
  return limit !== undefined && limit > 0;
}

/** The first pause of `backoff` takes the place of the wait; none of them may pass. */
function ackWaitOf({ ack_wait: wait, backoff = [] }: ConsumerConfig): number {
  const waits = [wait, ...backoff].filter(isSet);
  return waits.length === 0 ? ACK_WAIT_MS : Math.min(...waits) / NANOSECONDS;
}

function filtersOf({
  filter_subject: one,
  filter_subjects: several = [],
}: ConsumerConfig): string[] {
  return [...(one === undefined || one === '' ? [] : [one]), ...several];
}
