import type { Channel, ConsumeMessage } from 'amqplib';
import type { MessageFormat } from '../_brokers/message-source.ts';
import { decodedPayload } from '../_brokers/decode.ts';
import { setField, type JsonObject, type JsonValue } from '../../lib/text/json.ts';
import type { RabbitmqSourceConfig } from './config.ts';

export interface RabbitmqMessage {
  readonly message: ConsumeMessage;
  /** Where it is acknowledged; no other channel knows it. */
  readonly channel: Channel;
}

const ENVELOPE_BYTES = 64;

export function sizeOf({ message }: RabbitmqMessage): number {
  return message.content.length + ENVELOPE_BYTES;
}

export function formatOf(config: RabbitmqSourceConfig): MessageFormat<RabbitmqMessage> {
  const { queue, value_format: format, include_metadata: withMetadata } = config;
  return {
    record: ({ message }) => {
      const data = decodedPayload(message.content, format, `a message of the queue \`${queue}\``);
      return withMetadata ? { data, ...metadataOf(message) } : data;
    },
    bytes: ({ message }) => message.content,
    size: sizeOf,
    name: () => queue,
  };
}

function metadataOf({ fields, properties }: ConsumeMessage): JsonObject {
  return {
    exchange: fields.exchange,
    routing_key: fields.routingKey,
    redelivered: fields.redelivered,
    headers: plain(properties.headers ?? {}),
    content_type: plain(properties.contentType),
    message_id: plain(properties.messageId),
    correlation_id: plain(properties.correlationId),
    timestamp: plain(properties.timestamp),
  };
}

/** Values of headers as JSON; bytes are base64. */
function plain(value: unknown): JsonValue {
  if (Buffer.isBuffer(value)) return value.toString('base64');
  if (Array.isArray(value)) return value.map(plain);
  switch (typeof value) {
    case 'string':
    case 'number':
    case 'boolean':
    case 'bigint':
      return value;
    case 'object':
      return value === null ? null : plainFields(value);
    default:
      return null;
  }
}

/** The client marks times and decimals with the name of their type. */
function plainFields(value: object): JsonValue {
  if ('!' in value && 'value' in value) return plain(value.value);
  const found: JsonObject = {};
  for (const [name, one] of Object.entries(value)) setField(found, name, plain(one));
  return found;
}
