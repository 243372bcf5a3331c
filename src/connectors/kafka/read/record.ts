import { ConnectorError } from '../../../lib/errors.ts';
import { setField, type JsonObject, type JsonValue } from '../../../lib/text/json.ts';
import { utf8Text } from '../../_brokers/payload.ts';
import type { Decode } from '../formats/decode.ts';
import type { LogMessage } from './log-reader.ts';
import { exact } from './start.ts';

export interface Decoders {
  readonly key: Decode;
  readonly value: Decode;
}

/** A promise only where a schema has to be asked for. */
export function recordOf(
  message: LogMessage,
  decoders: Decoders,
): JsonObject | Promise<JsonObject> {
  const key = decoded(message, 'key', decoders.key);
  const value = decoded(message, 'value', decoders.value);
  if (key instanceof Promise || value instanceof Promise)
    return Promise.all([key, value]).then(([one, other]) => joined(message, one, other));
  return joined(message, key, value);
}

function joined(message: LogMessage, key: JsonValue, value: JsonValue): JsonObject {
  const { topic, partition, offset, timestamp, headers } = message;
  return {
    key,
    value,
    topic,
    partition,
    offset: exact(offset),
    timestamp,
    headers: headersOf(headers),
  };
}

function decoded(
  message: LogMessage,
  part: 'key' | 'value',
  decode: Decode,
): JsonValue | Promise<JsonValue> {
  const bytes = message[part];
  if (bytes === null) return null;
  try {
    const value = decode(bytes);
    return value instanceof Promise ? value.catch((error) => fail(error, message, part)) : value;
  } catch (error) {
    return fail(error, message, part);
  }
}

function fail(error: unknown, { topic, partition, offset }: LogMessage, part: string): never {
  if (!(error instanceof ConnectorError) || error.kind !== 'data') throw error;
  const where = `the ${part} of offset ${offset} in partition ${partition} of \`${topic}\``;
  const hint = error.hint ?? `check \`${part}_format\`, or set \`on_decode_error: skip\``;
  throw new ConnectorError('data', `${where} cannot be decoded: ${error.message}`, {
    cause: error,
    hint,
  });
}

function headersOf(headers: LogMessage['headers']): JsonObject {
  const found: JsonObject = {};
  for (const [name, value] of headers)
    setField(
      found,
      name === null ? '' : (utf8Text(name) ?? name.toString('base64')),
      value === null ? '' : (utf8Text(value) ?? value.toString('base64')),
    );
  return found;
}

const ENVELOPE_BYTES = 80;

export function sizeOf({ key, value, topic, headers }: LogMessage): number {
  const inHeaders = headers.reduce(
    (sum, [name, text]) => sum + (name?.length ?? 0) + (text?.length ?? 0) + 8,
    0,
  );
  return (key?.length ?? 0) + (value?.length ?? 0) + topic.length + inHeaders + ENVELOPE_BYTES;
}
