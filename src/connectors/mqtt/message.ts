import type { IPublishPacket } from 'mqtt-packet';
import { setField, type JsonObject, type JsonValue } from '../../lib/text/json.ts';
import { decodedPayload } from '../_brokers/decode.ts';
import type { MessageFormat } from '../_brokers/message-source.ts';
import type { MqttSourceConfig } from './config.ts';
import type { MqttSession } from './session.ts';

export interface MqttMessage {
  readonly packet: IPublishPacket;
  /** Where it is acknowledged: the connection on which it came last. */
  session: MqttSession;
  /** Written, so that it is acknowledged when it comes again. */
  isDone: boolean;
}

const ENVELOPE_BYTES = 64;

const payloadOf = ({ payload }: IPublishPacket): Buffer =>
  typeof payload === 'string' ? Buffer.from(payload) : payload;

export function sizeOf({ packet }: MqttMessage): number {
  return payloadOf(packet).length + packet.topic.length + ENVELOPE_BYTES;
}

export function formatOf(config: MqttSourceConfig): MessageFormat<MqttMessage> {
  const { value_format: format, include_metadata: withMetadata } = config;
  return {
    record: ({ packet }) => {
      const what = `a message of the topic \`${packet.topic}\``;
      const data = decodedPayload(payloadOf(packet), format, what);
      return withMetadata ? { data, ...metadataOf(packet) } : data;
    },
    bytes: ({ packet }) => payloadOf(packet),
    size: sizeOf,
    name: ({ packet }) => packet.topic,
  };
}

function metadataOf({ topic, qos, retain, dup, properties = {} }: IPublishPacket): JsonObject {
  return {
    topic,
    qos,
    retain,
    duplicate: dup,
    content_type: properties.contentType ?? null,
    response_topic: properties.responseTopic ?? null,
    correlation_data: properties.correlationData?.toString('base64') ?? null,
    message_expiry_secs: properties.messageExpiryInterval ?? null,
    user_properties: userProperties(properties.userProperties ?? {}),
  };
}

/** A property that comes more than once is a list. */
function userProperties(given: Readonly<Record<string, string | string[]>>): JsonValue {
  const found: JsonObject = {};
  for (const [name, value] of Object.entries(given)) setField(found, name, value);
  return found;
}
