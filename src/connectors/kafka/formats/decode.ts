/** Bytes of values and keys as JSON. */
import type { PartContext } from '../../../kit/context.ts';
import { ConnectorError, messageOf } from '../../../lib/errors.ts';
import { jsonFault, parseData, type JsonValue } from '../../../lib/text/json.ts';
import { textOf, utf8Text } from '../../_brokers/payload.ts';
import { avroLibrary } from '../../_files/avro/avro-library.ts';
import { avroConverter, hasWideUnion } from '../../_files/avro/avro-values.ts';
import type { PayloadFormat, RegistryConfig } from './config.ts';
import { validatorOf, type Validator } from './json-schema.ts';
import { SchemaRegistry } from './registry.ts';

/**
 * Failures are `ConnectorError`s: of kind `data` where the message is at fault. A promise only where
 * a schema has to be asked for.
 */
export type Decode = (bytes: Buffer) => JsonValue | Promise<JsonValue>;

/** Of a payload with a schema: a zero, and the id of the schema. */
export const PREFIX_BYTES = 5;

export function decoderOf(
  format: PayloadFormat | undefined,
  registry: SchemaRegistry | undefined,
): Decode {
  if (format === undefined) return (bytes) => utf8Text(bytes) ?? bytes.toString('base64');
  switch (format.type) {
    case 'raw_string':
      return (bytes) => textOf(bytes, 'it');
    case 'bytes':
      return (bytes) => bytes.toString('base64');
    case 'json':
      return jsonValue;
    case 'confluent_avro':
      return registered(registry, 'AVRO', avroReader);
    default: {
      const { validate } = format;
      return registered(registry, 'JSON', (schema) => jsonReader(schema, validate));
    }
  }
}

export function registryOf(
  config: RegistryConfig | undefined,
  context: Pick<PartContext, 'env' | 'signal'>,
): SchemaRegistry | undefined {
  return config === undefined ? undefined : new SchemaRegistry(config, context);
}

function jsonValue(bytes: Buffer): JsonValue {
  const text = textOf(bytes, 'it');
  try {
    return parseData(text);
  } catch (error) {
    throw new ConnectorError('data', `it ${jsonFault(error)}`, { cause: error });
  }
}

type Reader = (payload: Buffer) => JsonValue;

function registered(
  registry: SchemaRegistry | undefined,
  type: 'AVRO' | 'JSON',
  readerOf: (schema: JsonValue) => Promise<Reader>,
): Decode {
  const readers = new Map<number, Reader>();
  return (bytes) => {
    const id = schemaIdOf(bytes);
    const known = readers.get(id);
    if (known !== undefined) return known(bytes.subarray(PREFIX_BYTES));
    return (async () => {
      if (registry === undefined) throw new Error('cannot happen: the schema checks this');
      const found = await registry.schemaOf(id);
      if (found.type !== type)
        throw new ConnectorError('data', `its schema ${id} is one of ${found.type}, not ${type}`);
      const reader = await readerOf(found.schema);
      readers.set(id, reader);
      return reader(bytes.subarray(PREFIX_BYTES));
    })();
  };
}

function schemaIdOf(bytes: Buffer): number {
  if (bytes.length >= PREFIX_BYTES && bytes[0] === 0) return bytes.readUInt32BE(1);
  throw new ConnectorError('data', 'it does not begin with the id of a schema', {
    hint: 'set `value_format` or `key_format` to what the producer writes',
  });
}

async function avroReader(schema: JsonValue): Promise<Reader> {
  const wrapped = hasWideUnion(schema);
  const type = (await avroLibrary()).typeOf(schema, wrapped);
  const convert = avroConverter(schema, type, wrapped);
  return (payload) => {
    try {
      return convert(type.fromBuffer(payload));
    } catch (error) {
      throw new ConnectorError('data', `it does not fit its Avro schema: ${messageOf(error)}`, {
        cause: error,
      });
    }
  };
}

async function jsonReader(schema: JsonValue, validates: boolean): Promise<Reader> {
  const validate: Validator = validates ? await validatorOf(schema) : () => undefined;
  return (payload) => {
    const value = jsonValue(payload);
    const fault = validate(value);
    if (fault !== undefined)
      throw new ConnectorError('data', `it does not fit its JSON schema: ${fault}`);
    return value;
  };
}
