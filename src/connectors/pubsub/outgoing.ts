/** Messages as a topic takes them. */
import { RecordError } from '../../lib/errors.ts';
import { isObject, jsonText, type JsonValue } from '../../lib/text/json.ts';
import { encodedPayload } from '../_brokers/encode.ts';
import { keyReader, keyText } from '../_brokers/record-keys.ts';
import type { PubsubMessage } from './api.ts';
import type { PubsubSinkConfig } from './config.ts';

/** Of a request; what the service says of it is a round number of ten million. */
export const MOST_BYTES = 9_500_000;
const MOST_ATTRIBUTES = 100;
const LONGEST_NAME = 256;
const LONGEST_VALUE = 1024;
const LONGEST_KEY = 1024;
const ENVELOPE_BYTES = 32;

export interface OutMessage {
  /** Of the record in the page. */
  readonly index: number;
  readonly message: PubsubMessage;
  readonly bytes: number;
}

/** Makes messages; a record that cannot be sent is given as its error. */
export function messageMaker(config: PubsubSinkConfig) {
  const { value_format: format, attributes_field: field } = config;
  const keyOf = keyReader(config.ordering_key);
  return (record: JsonValue, index: number): OutMessage | RecordError => {
    try {
      const key = keyOf === undefined ? '' : checkedKey(keyText(keyOf(record)));
      const attributes = field === undefined ? {} : attributesOf(record, field);
      const data = encodedPayload(field === undefined ? record : without(record, field), format);
      if (data === undefined)
        throw refused('with `value_format: bytes` a record is a text of base64');
      if (data.length === 0 && Object.keys(attributes).length === 0)
        throw refused('the message is empty: it has neither data nor attributes');
      const bytes = data.length + key.length + sizeOf(attributes) + ENVELOPE_BYTES;
      if (bytes > MOST_BYTES)
        throw refused(`the message has ${bytes} bytes, and ${MOST_BYTES} are the most`);
      return { index, message: { data, attributes, ordering_key: key }, bytes };
    } catch (error) {
      if (error instanceof RecordError) return error;
      throw error;
    }
  };
}

const refused = (why: string): RecordError => new RecordError('Sink', why);

function without(record: JsonValue, field: string): JsonValue {
  if (!isObject(record)) return record;
  const { [field]: _, ...rest } = record;
  return rest;
}

function attributesOf(record: JsonValue, field: string): Record<string, string> {
  const value = isObject(record) && Object.hasOwn(record, field) ? record[field] : null;
  if (value === null || value === undefined) return {};
  if (!isObject(value)) throw refused(`\`${field}\` holds no attributes: names with their values`);
  const entries = Object.entries(value).filter(([, one]) => one !== null);
  if (entries.length > MOST_ATTRIBUTES)
    throw refused(
      `the message has ${entries.length} attributes, and ${MOST_ATTRIBUTES} are the most`,
    );
  return Object.fromEntries(entries.map(([name, one]) => [name, checkedAttribute(name, one)]));
}

function checkedAttribute(name: string, value: JsonValue): string {
  const shown = `the attribute \`${name.slice(0, LONGEST_NAME)}\``;
  if (name === '' || Buffer.byteLength(name) > LONGEST_NAME || /^goog/i.test(name))
    throw refused(
      `${shown} has a name that is not taken: it must have 1 to ${LONGEST_NAME} bytes and not begin with \`goog\``,
    );
  if (typeof value === 'object') throw refused(`${shown} is no single value`);
  const text = jsonText(value);
  if (Buffer.byteLength(text) > LONGEST_VALUE)
    throw refused(`${shown} has more than ${LONGEST_VALUE} bytes`);
  return text;
}

function checkedKey(key: string): string {
  if (key !== '' && Buffer.byteLength(key) <= LONGEST_KEY) return key;
  const why = key === '' ? 'there is none' : 'it is longer';
  throw refused(`the ordering key must have 1 to ${LONGEST_KEY} bytes, and ${why}`);
}

function sizeOf(attributes: Readonly<Record<string, string>>): number {
  let bytes = 0;
  for (const [name, value] of Object.entries(attributes))
    bytes += Buffer.byteLength(name) + Buffer.byteLength(value) + ENVELOPE_BYTES;
  return bytes;
}
