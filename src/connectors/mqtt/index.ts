import type { PartContext } from '../../kit/context.ts';
import type { ProbeFinding } from '../../kit/probe.ts';
import { APPEND_ONLY, defineSink } from '../../kit/sink.ts';
import { defineSource } from '../../kit/source.ts';
import { AppError, messageOf } from '../../lib/errors.ts';
import { IDLE_FLUSH_MS, MessageSource } from '../_brokers/message-source.ts';
import { addressOf, mqttUri } from './addresses.ts';
import {
  isKept,
  mqttSinkConfig,
  mqttSourceConfig,
  type MqttConnectionConfig,
  type MqttSinkConfig,
  type MqttSourceConfig,
} from './config.ts';
import { registerLogin } from './login.ts';
import { formatOf } from './message.ts';
import { MqttQueue } from './queue.ts';
import { MqttSession } from './session.ts';
import { MqttSink } from './sink.ts';

export const mqttSource = defineSource<MqttSourceConfig>({
  type: 'mqtt',
  description: 'Reads messages of topics of an MQTT server.',
  config: mqttSourceConfig,
  examples: [
    {
      url: 'mqtt://localhost:1883',
      topics: ['sensors/+/temperature'],
      client_id: 'headgate-temperatures',
      idle_timeout_secs: 30,
    },
    {
      url: 'mqtts://iot.example.com',
      username: 'loader',
      password: 'abcd1234',
      topics: ['$share/loaders/sensors/#'],
      client_id: 'loader-1',
      qos: 2,
      session_expiry_secs: 604_800,
      include_metadata: true,
      max_messages: 100_000,
      idle_timeout_secs: 10,
    },
  ],
  capabilities: (config) =>
    isKept(config)
      ? {
          replay: 'none',
          bookmarks: true,
          encodings: [],
          unbounded: { redelivery: 'upstream', idleFlushMs: IDLE_FLUSH_MS },
        }
      : { replay: 'none', bookmarks: false, encodings: [] },
  quarantines: ({ on_decode_error: onError }) => onError === 'dlq',
  datasetUri: ({ url, topics }) => mqttUri(url, `topic=${topics.join(',')}`),
  readsJson: true,
  open: (config, context) =>
    Promise.resolve(
      new MessageSource({
        queue: new MqttQueue(config, context),
        format: formatOf(config),
        context,
        batchSize: config.batch_size,
        maxMessages: config.max_messages,
        idleSeconds: config.idle_timeout_secs,
        onDecodeError: config.on_decode_error,
      }),
    ),
  probe: probeMqtt,
});

export const mqttSink = defineSink<MqttSinkConfig>({
  type: 'mqtt',
  description: 'Publishes records as messages of MQTT, confirmed by the server.',
  config: mqttSinkConfig,
  examples: [
    { url: 'mqtt://localhost:1883', topic: 'orders' },
    {
      url: 'mqtts://loader:abcd1234@iot.example.com',
      topic: 'sensors/unknown',
      topic_field: 'sensor',
      qos: 2,
      retain: true,
      message_expiry_secs: 3600,
    },
  ],
  capabilities: () => APPEND_ONLY,
  datasetUri: ({ url, topic, topic_field: field }) =>
    mqttUri(url, `topic=${field === undefined ? topic : `(from_field:${field})`}`),
  open: (config, context) => Promise.resolve(new MqttSink(config, context)),
  probe: probeMqtt,
});

/** Logs in under another name: a reader of that session would be cut off. */
async function probeMqtt(
  config: MqttConnectionConfig,
  context: PartContext,
): Promise<ProbeFinding[]> {
  const { env, signal } = context;
  const address = addressOf(config.url);
  registerLogin(config, context);
  try {
    if (address === undefined) throw new Error('cannot happen: a config with another address');
    const session = await MqttSession.open({
      address,
      config,
      clientId: undefined,
      clean: true,
      cwd: env.cwd,
      signal,
      doing: 'the server cannot be reached',
    });
    await session.end();
    return [{ name: 'connect', status: 'pass' }];
  } catch (error) {
    signal.throwIfAborted();
    const hint = error instanceof AppError ? error.hint : undefined;
    const found = { name: 'connect', status: 'fail', reason: messageOf(error) } as const;
    return [hint === undefined ? found : { ...found, hint }];
  }
}
