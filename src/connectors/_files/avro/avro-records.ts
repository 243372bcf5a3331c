import { ConnectorError, messageOf } from '../../../lib/errors.ts';
import type { JsonValue } from '../../../lib/text/json.ts';
import { AvroContainer } from './avro-container.ts';
import type { Convert } from '../parquet/parquet-values.ts';
import type { RecordSchema } from '../../../kit/record-schema.ts';
import { decompressorOf } from './avro-codecs.ts';
import { avroLibrary } from './avro-library.ts';
import { avroRecordSchema } from './avro-types.ts';
import { avroConverter, hasWideUnion } from './avro-values.ts';

export interface AvroOptions {
  /** Reader schema; the one in the file when absent. */
  readonly schema: unknown;
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
  const { decode, convert, fields } = await readingOf(schema, options.schema);
  options.onSchema(schema, fields);
  let batch: JsonValue[] = [];
  for (let block = await container.next(); block !== undefined; block = await container.next()) {
    const data = await decompress(block.data);
    let at = 0;
    for (let left = block.count; left > 0; left -= 1) {
      const { value, offset } = decode(data, at);
      if (offset < 0) throw new Error('a block has fewer values than it says');
      at = offset;
      batch.push(convert(value));
      if (batch.length < BATCH) continue;
      options.signal.throwIfAborted();
      yield batch;
      batch = [];
    }
    if (at !== data.length) throw new Error('a block has more bytes than its values take');
  }
  if (batch.length > 0) yield batch;
}

type Decode = (data: Buffer, at: number) => { readonly value: unknown; readonly offset: number };

interface ReadingAs {
  readonly decode: Decode;
  readonly convert: Convert;
  readonly fields: RecordSchema | undefined;
}

/** Reads a value as it was written, and gives it the form of the schema to read with. */
async function readingOf(written: unknown, wanted: unknown): Promise<ReadingAs> {
  const library = await avroLibrary();
  const wrapped = hasWideUnion(written) || hasWideUnion(wanted);
  const type = library.typeOf(written, wrapped);
  if (wanted === undefined)
    return {
      decode: (data, at) => type.decode(data, at),
      convert: avroConverter(written, type, wrapped),
      fields: avroRecordSchema(written, type),
    };
  const reader = library.typeOf(wanted, wrapped);
  const resolver = reader.createResolver(type);
  return {
    decode: (data, at) => reader.decode(data, at, resolver),
    convert: avroConverter(wanted, reader, wrapped),
    fields: avroRecordSchema(wanted, reader),
  };
}
