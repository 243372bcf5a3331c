/** JSON as bytes of values and keys. */
import { ConnectorError, RecordError } from '../../../lib/errors.ts';
import {
  isObject,
  jsonText,
  parseJson,
  stringifyJson,
  type JsonValue,
} from '../../../lib/text/json.ts';
import { avroEncoder } from '../../_files/avro/avro-encoder.ts';
import { avroLibrary } from '../../_files/avro/avro-library.ts';
import type { Schema } from '../../_files/avro/avro-values.ts';
import type { PayloadFormat } from './config.ts';
import { PREFIX_BYTES } from './decode.ts';
import { validatorOf } from './json-schema.ts';
import type { SchemaRegistry } from './registry.ts';

/** Throws `RecordError` for a value that the format cannot hold. */
export type Encode = (value: JsonValue) => Buffer;

export interface Encoding {
  readonly format: PayloadFormat | undefined;
  /** As the config has it: a mapping or its text. */
  readonly schema: JsonValue | undefined;
  readonly registry: SchemaRegistry | undefined;
  /** `{topic}-value` or `{topic}-key`. */
  readonly subject: string;
}

export async function encoderOf(encoding: Encoding): Promise<Encode> {
  switch (encoding.format?.type) {
    case undefined:
      return (value) => Buffer.from(jsonText(value));
    case 'raw_string':
      return (value) => Buffer.from(jsonText(value));
    case 'bytes':
      return base64Bytes;
    case 'json':
      return (value) => Buffer.from(stringifyJson(value));
    case 'confluent_avro':
      return avroWriter(encoding);
    default:
      return jsonWriter(encoding);
  }
}

const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}(?:==)?|[A-Za-z0-9+/]{3}=?)?$/;

function base64Bytes(value: JsonValue): Buffer {
  if (typeof value === 'string' && BASE64.test(value)) return Buffer.from(value, 'base64');
  throw new RecordError('Sink', 'it is no base64 text, which the format `bytes` takes');
}

async function avroWriter(encoding: Encoding): Promise<Encode> {
  const schema = schemaOf(encoding) as Schema;
  const type = await avroTypeOf(schema);
  const encode = avroEncoder(schema, type);
  const prefix = await registeredPrefix(encoding, 'AVRO');
  return (value) => {
    try {
      const form = encode(value, { path: '', dropped: () => {} });
      return Buffer.concat([prefix, type.toBuffer(form)]);
    } catch (error) {
      if (!(error instanceof Error)) throw error;
      throw new RecordError('Sink', `it does not fit the Avro schema: ${error.message}`, {
        cause: error,
      });
    }
  };
}

async function avroTypeOf(schema: Schema) {
  try {
    return (await avroLibrary()).typeOf(schema, true);
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    throw new ConnectorError('data', `the Avro schema cannot be used: ${message}`, {
      hint: 'check `value_schema` and `key_schema`',
      cause: error,
    });
  }
}

async function jsonWriter(encoding: Encoding): Promise<Encode> {
  const { format } = encoding;
  const validates = format?.type === 'confluent_json_schema' && format.validate;
  const validate = validates ? await validatorOf(schemaOf(encoding)) : () => undefined;
  const prefix = await registeredPrefix(encoding, 'JSON');
  return (value) => {
    const fault = validate(value);
    if (fault !== undefined) throw new RecordError('Sink', `it does not fit its schema: ${fault}`);
    return Buffer.concat([prefix, Buffer.from(stringifyJson(value))]);
  };
}

function schemaOf({ schema }: Encoding): JsonValue {
  if (typeof schema !== 'string') return schema ?? null;
  try {
    return parseJson(schema);
  } catch {
    // A name such as `string`.
    return schema;
  }
}

async function registeredPrefix(encoding: Encoding, type: 'AVRO' | 'JSON'): Promise<Buffer> {
  const { registry, subject } = encoding;
  if (registry === undefined) throw new Error('cannot happen: the schema checks this');
  const schema = schemaOf(encoding);
  const text = isObject(schema) || Array.isArray(schema) ? schema : { type: schema };
  const id = await registry.register(subject, type, stringifyJson(text));
  const prefix = Buffer.alloc(PREFIX_BYTES);
  prefix.writeUInt32BE(id, 1);
  return prefix;
}
