import { setField, type JsonObject, type JsonValue } from '../../lib/text/json.ts';
import { decodedPayload } from '../_brokers/decode.ts';
import type { MessageFormat } from '../_brokers/message-source.ts';
import type { ReceivedMessage } from './api.ts';
import type { PubsubSourceConfig } from './config.ts';

/** A message that was received. */
export interface HeldMessage {
  readonly received: ReceivedMessage;
  readonly bytes: number;
  /** `done`: it does not come again; `lost`: somebody else may have it by now. */
  state: 'held' | 'done' | 'lost';
  /** Until when nobody else gets it, in milliseconds of the clock. */
  heldUntilMs: number;
}

const ENVELOPE_BYTES = 128;
const NANOS_OF_MS = 1_000_000;

export function sizeOf({ message }: ReceivedMessage): number {
  let bytes = message.data.length + message.ordering_key.length + ENVELOPE_BYTES;
  for (const [name, value] of Object.entries(message.attributes))
    bytes += name.length + value.length;
  return bytes;
}

export function formatOf(config: PubsubSourceConfig): MessageFormat<HeldMessage> {
  const { value_format: format, attributes_key: attributesKey, subscription } = config;
  return {
    record({ received: { message, delivery_attempt: attempt } }): JsonValue {
      const { message_id: id = '', ordering_key: key, publish_time: time } = message;
      const what = `the data of message ${id} of \`${subscription}\``;
      const record: JsonObject = { data: decodedPayload(message.data, format, what) };
      const attributes: JsonObject = {};
      for (const [name, value] of Object.entries(message.attributes))
        setField(attributes, name, value);
      setField(record, attributesKey, attributes);
      record['message_id'] = id;
      if (key !== '') record['ordering_key'] = key;
      record['publish_time_millis'] =
        time === undefined
          ? null
          : Number(time.seconds) * 1000 + Math.floor(time.nanos / NANOS_OF_MS);
      if (attempt > 0) record['delivery_attempt'] = attempt;
      return record;
    },
    bytes: ({ received }) => received.message.data,
    size: ({ bytes }) => bytes,
    name: () => subscription,
    id: ({ received }) => received.message.message_id ?? '',
  };
}
