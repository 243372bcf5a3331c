import type { Producer } from '@platformatic/kafka';
import type { Env } from '../../lib/env.ts';
import { messageOf } from '../../lib/errors.ts';
import { brokerList, kafkaError, kafkaLibrary } from '../../lib/kafka/kafka.ts';
import { LEFT_ALONE, type Outages } from '../../lib/outages.ts';
import { untilAborted } from '../../lib/until-aborted.ts';
import type { Transport } from './transport.ts';

type TextProducer = Producer<string, string, string, string>;

/** For a connection, and for an answer of a broker. */
const TIMEOUT_MS = 5000;
const GRACE_MS = 10_000;

/** Each event is a message of a topic of Kafka, which all replicas have confirmed. */
export function topicTransport(
  { brokers, topic }: { readonly brokers: string; readonly topic: string },
  { clock }: Pick<Env, 'clock'>,
  outages: Outages,
): Transport {
  // Connects with the first event.
  let producer: Promise<TextProducer> | undefined;
  return {
    graceMs: GRACE_MS,
    async send({ runId, text }, signal) {
      if (outages.isLeftAlone(brokers)) throw new Error(`the broker was not asked: ${LEFT_ALONE}`);
      const from = clock.elapsedMs();
      const both = AbortSignal.any([signal, AbortSignal.timeout(GRACE_MS)]);
      try {
        producer ??= openProducer(brokers);
        const messages = [{ topic, key: runId, value: text }];
        await untilAborted(
          producer.then((one) => one.send({ messages })),
          both,
        );
      } catch (error) {
        outages.failed(brokers, from);
        throw new Error(whyNot(error, both), { cause: error });
      }
    },
    async close() {
      const opened = await producer?.catch(() => undefined);
      await opened?.close(true).catch(() => {});
    },
  };
}

async function openProducer(brokers: string): Promise<TextProducer> {
  const kafka = await kafkaLibrary();
  return new kafka.Producer({
    clientId: 'headgate',
    bootstrapBrokers: brokerList(brokers),
    serializers: kafka.stringSerializers,
    acks: kafka.ProduceAcks.ALL,
    connectTimeout: TIMEOUT_MS,
    requestTimeout: TIMEOUT_MS,
    timeout: TIMEOUT_MS,
    retries: 1,
    retryDelay: 100,
  });
}

function whyNot(error: unknown, signal: AbortSignal): string {
  if (signal.aborted) return 'the broker did not answer in time';
  return messageOf(kafkaError(error, 'the topic cannot be written'));
}
