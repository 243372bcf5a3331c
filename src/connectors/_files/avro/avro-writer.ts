/** Writes the container format of Avro, which `avro-container.ts` reads. */
import { randomBytes } from 'node:crypto';
import type { JsonValue } from '../../../lib/text/json.ts';
import type { ColumnKind } from '../typed/column-kinds.ts';
import { compressorOf, type AvroCodec } from './avro-codecs.ts';
import { avroEncoder } from './avro-encoder.ts';
import { avroLibrary } from './avro-library.ts';
import { avroSchemaOf } from './avro-schema.ts';
import type { Schema } from './avro-values.ts';
import { ConnectorError, messageOf } from '../../../lib/errors.ts';

export interface AvroWriting {
  /** The schema of the file, or the columns that it is made from. */
  readonly schema: Schema | ReadonlyMap<string, ColumnKind>;
  readonly codec: AvroCodec;
  /** What stands in the header besides the schema and the codec. */
  readonly metadata?: Readonly<Record<string, string>>;
  readonly onDropped: (path: string) => void;
}

/** A block ends with the record that brings it to this size. */
const BLOCK_BYTES = 64 * 1024;

/** The bytes of a file. */
export async function* avroFile(
  batches: AsyncIterable<readonly JsonValue[]>,
  { schema: given, codec, metadata = {}, onDropped }: AvroWriting,
): AsyncGenerator<Uint8Array> {
  const schema = given instanceof Map ? avroSchemaOf(given) : (given as Schema);
  const type = (await avroLibrary()).typeOf(schema, true);
  const encode = avroEncoder(schema, type);
  const { name, compress } = await compressorOf(codec);
  const sync = randomBytes(16);
  yield header({ ...metadata, 'avro.schema': JSON.stringify(schema), 'avro.codec': name }, sync);
  const block = (values: readonly Buffer[]): Uint8Array => {
    const data = compress(Buffer.concat(values));
    return Buffer.concat([long(values.length), long(data.length), data, sync]);
  };
  let values: Buffer[] = [];
  let bytes = 0;
  for await (const records of batches) {
    for (const record of records) {
      const value = type.toBuffer(encode(record, { path: '', dropped: onDropped }));
      values.push(value);
      bytes += value.length;
      if (bytes < BLOCK_BYTES) continue;
      yield block(values);
      values = [];
      bytes = 0;
    }
  }
  if (values.length > 0) yield block(values);
}

/** Throws for a schema that the library does not understand, and for one of other than records. */
export async function requireAvroSchema(schema: unknown): Promise<void> {
  const hint = 'see https://avro.apache.org/docs/1.12.0/specification/#schema-declaration';
  try {
    (await avroLibrary()).typeOf(schema, true);
  } catch (error) {
    throw new ConnectorError('refused', `\`avro.schema\` is no schema: ${messageOf(error)}`, {
      hint,
      cause: error,
    });
  }
}

function header(meta: Readonly<Record<string, string>>, sync: Buffer): Buffer {
  const entries = Object.entries(meta).flatMap(([key, value]) => [text(key), text(value)]);
  return Buffer.concat([
    Buffer.from('Obj\u0001', 'latin1'),
    long(Object.keys(meta).length),
    ...entries,
    long(0),
    sync,
  ]);
}

function text(value: string): Buffer {
  const bytes = Buffer.from(value);
  return Buffer.concat([long(bytes.length), bytes]);
}

/** A zigzag varint; lengths and counts are never negative. */
function long(value: number): Buffer {
  const bytes: number[] = [];
  let left = value * 2;
  while (left >= 0x80) {
    bytes.push((left % 0x80) | 0x80);
    left = Math.floor(left / 0x80);
  }
  return Buffer.from([...bytes, left]);
}
