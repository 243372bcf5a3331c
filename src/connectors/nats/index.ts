import type { NatsConnection } from '@nats-io/transport-node';
import type { PartContext, SourceContext } from '../../kit/context.ts';
import type { ProbeFinding } from '../../kit/probe.ts';
import { APPEND_ONLY, defineSink } from '../../kit/sink.ts';
import { defineSource, type Discovered, type Source } from '../../kit/source.ts';
import { AppError, messageOf } from '../../lib/errors.ts';
import { IDLE_FLUSH_MS, MessageSource } from '../_brokers/message-source.ts';
import { natsUri } from './addresses.ts';
import {
  natsSinkConfig,
  natsSourceConfig,
  type NatsSinkConfig,
  type NatsSourceConfig,
} from './config.ts';
import { consumerFacts, manager } from './consumer.ts';
import { CoreQueue } from './core-queue.ts';
import { JetQueue } from './jet-queue.ts';
import { NatsLink } from './link.ts';
import { natsFormat } from './message.ts';
import { NatsSink } from './sink.ts';

export const natsSource = defineSource<NatsSourceConfig>({
  type: 'nats',
  description: 'Reads messages of a subject of NATS, or of a consumer of JetStream.',
  config: natsSourceConfig,
  examples: [
    { subject: 'orders.>', idle_timeout_secs: 30 },
    {
      servers: ['nats://nats-1:4222', 'nats://nats-2:4222'],
      auth: { type: 'user_password', config: { username: 'loader', password: 'abcd1234' } },
      subject: 'orders.*',
      jetstream_stream: 'ORDERS',
      jetstream_consumer: 'loader',
      max_messages: 100_000,
      idle_timeout_secs: 10,
    },
    { subject: 'orders.new', queue_group: 'loaders', max_messages: 500 },
  ],
  capabilities: ({ jetstream_stream: stream }) =>
    stream === undefined
      ? { replay: 'none', bookmarks: false, encodings: [] }
      : {
          replay: 'none',
          bookmarks: true,
          encodings: [],
          unbounded: { redelivery: 'upstream', idleFlushMs: IDLE_FLUSH_MS },
        },
  quarantines: ({ on_decode_error: onError }) => onError === 'dlq',
  datasetUri: ({ servers, subject }) => natsUri(servers, subject),
  readsJson: true,
  open: (config, context) => Promise.resolve(openNatsSource(config, context)),
  probe: probeNatsSource,
  discover: discoverConsumers,
});

export const natsSink = defineSink<NatsSinkConfig>({
  type: 'nats',
  description: 'Publishes records as messages of NATS, confirmed where a stream keeps them.',
  config: natsSinkConfig,
  examples: [
    { subject: 'orders.new' },
    {
      servers: ['tls://nats.example.com:4222'],
      auth: { type: 'creds_file', config: { path: 'loader.creds' } },
      subject: 'orders.other',
      subject_field: 'kind',
    },
  ],
  capabilities: () => APPEND_ONLY,
  datasetUri: ({ servers, subject, subject_field: field }) =>
    natsUri(servers, field === undefined ? subject : `(from_field:${field})`),
  open: (config, context) => Promise.resolve(new NatsSink(config, context)),
  probe: (config, context) =>
    probed('check', config, context, async (link) => {
      await link.run('the server cannot be reached', (nc) => nc.flush());
    }),
});

function openNatsSource(config: NatsSourceConfig, context: SourceContext): Source {
  const link = new NatsLink(config, context);
  const { jetstream_stream: stream } = config;
  const setup = {
    format: natsFormat,
    context,
    batchSize: config.batch_size,
    maxMessages: config.max_messages,
    idleSeconds: config.idle_timeout_secs,
    onDecodeError: config.on_decode_error,
  };
  if (stream === undefined)
    return new MessageSource({ ...setup, queue: new CoreQueue(link, config, context) });
  const ofStream = { ...config, jetstream_stream: stream };
  return new MessageSource({ ...setup, queue: new JetQueue(link, ofStream, context) });
}

/** Takes no message: what a consumer gives counts as delivered. */
function probeNatsSource(
  config: NatsSourceConfig,
  context: SourceContext,
): Promise<ProbeFinding[]> {
  const { subject, jetstream_stream: stream, jetstream_consumer: consumer = '' } = config;
  return probed('read', config, context, async (link) => {
    const doing = `\`${subject}\` cannot be read`;
    if (stream === undefined) await link.run(doing, (nc) => tryToListen(nc, config));
    else await link.run(doing, (nc) => consumerFacts(nc, { stream, consumer }));
  });
}

/** The server tells whom it does not allow to listen before it answers to the flush. */
async function tryToListen(nc: NatsConnection, config: NatsSourceConfig): Promise<void> {
  const refused = Promise.withResolvers<never>();
  const subscription = nc.subscribe(config.subject, {
    // As a member of the group it would take a message from the others.
    callback: (error) => {
      if (error !== null) refused.reject(error);
    },
  });
  await Promise.race([nc.flush(), refused.promise]);
  subscription.unsubscribe();
}

async function probed(
  name: string,
  config: NatsSourceConfig | NatsSinkConfig,
  context: PartContext,
  work: (link: NatsLink) => Promise<unknown>,
): Promise<ProbeFinding[]> {
  const link = new NatsLink(config, context);
  try {
    await work(link);
    return [{ name, status: 'pass' }];
  } catch (error) {
    context.signal.throwIfAborted();
    const hint = error instanceof AppError ? error.hint : undefined;
    const advice = hint ?? 'check `servers`, `auth` and `tls`';
    return [{ name, status: 'fail', reason: messageOf(error), hint: advice }];
  } finally {
    await link.close();
  }
}

/** The pull consumers of all streams. */
async function discoverConsumers(
  config: NatsSourceConfig,
  context: SourceContext,
): Promise<Discovered[]> {
  const link = new NatsLink(config, context);
  try {
    return await link.run('the streams cannot be listed', async (nc) => {
      const { streams, consumers } = await manager(nc);
      const found: Discovered[] = [];
      for await (const { config: stream } of streams.list())
        for await (const { name, config: consumer, num_pending: pending } of consumers.list(
          stream.name,
        ))
          if (consumer.deliver_subject === undefined)
            found.push({
              name: `${stream.name}/${name}`,
              kind: 'consumer',
              estimated_rows: pending,
              config_patch: {
                subject: consumer.filter_subject ?? '>',
                jetstream_stream: stream.name,
                jetstream_consumer: name,
              },
            });
      return found.sort((a, b) => (a.name < b.name ? -1 : 1));
    });
  } finally {
    await link.close();
  }
}
