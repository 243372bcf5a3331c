import { ConnectorError, messageOf } from '../../../lib/errors.ts';
import type { JsonValue } from '../../../lib/text/json.ts';
import { AvroContainer, damagedAvro } from './avro-container.ts';
import type { Convert } from '../parquet/parquet-values.ts';
import type { RecordSchema } from '../../../kit/record-schema.ts';
import { decompressorOf, type Decompress } from './avro-codecs.ts';
import { refuseDifferences, type ReadWith } from './avro-differences.ts';
import { avroLibrary, type AvroLibrary } from './avro-library.ts';
import { withoutDefaults } from './avro-names.ts';
import { avroRecordSchema } from './avro-types.ts';
import { avroConverter, hasWideUnion } from './avro-values.ts';

export interface AvroOptions {
  /** Instead of the schema in the file. */
  readonly readWith?: ReadWith | undefined;
  readonly name: string;
  readonly signal: AbortSignal;
  /**
   * Called before the first record with the schema the file was written with, and what is known of
   * the fields of its records as they are read.
   */
  readonly onSchema: (written: unknown, fields: RecordSchema | undefined) => void;
}

const BATCH = 256;

/** The records of an Avro container file, block by block. */
export async function* avroRecords(
  blocks: AsyncIterable<Uint8Array>,
  options: AvroOptions,
): AsyncGenerator<JsonValue[]> {
  const container = new AvroContainer(blocks, options.name);
  try {
    yield* records(container, options);
  } catch (error) {
    options.signal.throwIfAborted();
    if (error instanceof ConnectorError) throw error;
    throw new ConnectorError('data', `cannot read ${options.name} as Avro: ${messageOf(error)}`, {
      cause: error,
    });
  } finally {
    await container.close();
  }
}

async function* records(
  container: AvroContainer,
  options: AvroOptions,
): AsyncGenerator<JsonValue[]> {
  const { schema, codec } = await container.header();
  const decompress = await decompressorOf(codec, options.name);
  const { decode, convert, fields } = await readingOf(schema, options);
  options.onSchema(schema, fields);
  const place = { block: 0, records: 0 };
  const damaged = (why: string, cause?: unknown): ConnectorError =>
    damagedAvro(
      options.name,
      `block ${place.block}, from record ${place.records + 1} on, ${why}`,
      cause,
    );
  let batch: JsonValue[] = [];
  for (let block = await container.next(); block !== undefined; block = await container.next()) {
    place.block += 1;
    const data = await unpacked(decompress, block.data, damaged);
    let at = 0;
    for (let left = block.count; left > 0; left -= 1) {
      const { value, offset } = decoded(decode, data, at, damaged);
      at = offset;
      batch.push(convert(value));
      if (batch.length < BATCH) continue;
      options.signal.throwIfAborted();
      yield batch;
      batch = [];
    }
    if (at !== data.length) throw damaged('has more bytes than its values take');
    place.records += block.count;
  }
  if (batch.length > 0) yield batch;
}

type Damaged = (why: string, cause?: unknown) => ConnectorError;

async function unpacked(decompress: Decompress, data: Buffer, damaged: Damaged): Promise<Buffer> {
  try {
    return await decompress(data);
  } catch (error) {
    if (error instanceof ConnectorError) throw damaged(error.message, error);
    throw damaged('cannot be decompressed', error);
  }
}

function decoded(decode: Decode, data: Buffer, at: number, damaged: Damaged): Decoded {
  try {
    const found = decode(data, at);
    if (found.offset >= 0) return found;
  } catch (error) {
    throw damaged('has bytes that are no values of its schema', error);
  }
  throw damaged('has fewer values than it says');
}

interface Decoded {
  readonly value: unknown;
  /** Where the next value begins; negative when the data ends before. */
  readonly offset: number;
}

type Decode = (data: Buffer, at: number) => Decoded;

interface ReadingAs {
  readonly decode: Decode;
  readonly convert: Convert;
  readonly fields: RecordSchema | undefined;
}

/** Reads a value as it was written, and gives it the form of the schema to read with. */
async function readingOf(written: unknown, { readWith, name }: AvroOptions): Promise<ReadingAs> {
  const library = await avroLibrary();
  const wanted = readWith?.schema;
  const wrapped = hasWideUnion(written) || hasWideUnion(wanted);
  const type = writtenType(library, written, wrapped, name);
  if (readWith === undefined)
    return {
      decode: (data, at) => type.decode(data, at),
      convert: avroConverter(written, type, wrapped),
      fields: avroRecordSchema(written, type),
    };
  refuseDifferences(written, name, readWith);
  const reader = library.typeOf(wanted, wrapped);
  const resolver = reader.createResolver(type);
  return {
    decode: (data, at) => reader.decode(data, at, resolver),
    convert: avroConverter(wanted, reader, wrapped),
    fields: avroRecordSchema(wanted, reader),
  };
}

function writtenType(
  library: AvroLibrary,
  written: unknown,
  wrapped: boolean,
  name: string,
): ReturnType<AvroLibrary['typeOf']> {
  try {
    return library.typeOf(withoutDefaults(written), wrapped);
  } catch (error) {
    throw new ConnectorError(
      'data',
      `cannot read ${name} as Avro: the schema in its header is not valid`,
      { hint: 'check the file with another Avro program, and have it written again', cause: error },
    );
  }
}
