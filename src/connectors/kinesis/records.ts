/** Records as a stream takes them. */
import { createHash, randomUUID } from 'node:crypto';
import { RecordError } from '../../lib/errors.ts';
import type { JsonValue } from '../../lib/text/json.ts';
import { encodedPayload } from '../_brokers/encode.ts';
import { keyReader, keyText } from '../_brokers/record-keys.ts';
import type { KinesisSinkConfig } from './config.ts';

export interface OutRecord {
  /** Of the record in the page. */
  readonly index: number;
  readonly data: Uint8Array;
  readonly partitionKey: string;
  readonly hashKey: string | undefined;
  readonly bytes: number;
}

const LONGEST_KEY = 256;
const MOST_HASH = 2n ** 128n;

/** Makes records; one that cannot be sent is given as its error. */
export function recordMaker(config: KinesisSinkConfig) {
  const keyOf = partitionKeys(config.partition_key);
  const hashOf = keyReader(config.explicit_hash_key);
  const { value_format: format, max_record_size_bytes: most } = config;
  return (record: JsonValue, index: number): OutRecord | RecordError => {
    try {
      const data = dataOf(record, format);
      const partitionKey = checkedKey(keyOf(record));
      const hashKey = hashOf === undefined ? undefined : checkedHash(hashOf(record));
      const bytes = data.length + Buffer.byteLength(partitionKey);
      if (bytes > most)
        return new RecordError('Sink', `the record has ${bytes} bytes, and ${most} are the most`);
      return { index, data, partitionKey, hashKey, bytes };
    } catch (error) {
      if (error instanceof RecordError) return error;
      throw error;
    }
  };
}

function partitionKeys(of: KinesisSinkConfig['partition_key']): (record: JsonValue) => string {
  if (of.type === 'random') return () => randomUUID();
  if (of.type === 'static') return () => of.value;
  const read = keyReader(of);
  return (record) => {
    const text = keyText(read?.(record));
    return of.type === 'hash' && text !== '' ? createHash('md5').update(text).digest('hex') : text;
  };
}

function checkedKey(key: string): string {
  if (key !== '' && key.length <= LONGEST_KEY) return key;
  const why = key === '' ? 'there is none' : `it has ${key.length} characters`;
  throw new RecordError(
    'Sink',
    `the partition key must have 1 to ${LONGEST_KEY} characters, and ${why}`,
  );
}

function checkedHash(value: JsonValue | undefined): string {
  const text = keyText(value);
  if (/^\d+$/.test(text) && BigInt(text) < MOST_HASH) return text;
  throw new RecordError('Sink', 'the explicit hash key must be a whole number from 0 to 2^128 - 1');
}

function dataOf(record: JsonValue, format: KinesisSinkConfig['value_format']): Uint8Array {
  const bytes = encodedPayload(record, format);
  if (bytes !== undefined) return bytes;
  throw new RecordError('Sink', 'with `value_format: bytes` a record is a text of base64');
}
