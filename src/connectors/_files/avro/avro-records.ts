import { inflateRawSync, zstdDecompressSync } from 'node:zlib';
import { ConnectorError, messageOf } from '../../../lib/errors.ts';
import type { JsonValue } from '../../../lib/text/json.ts';
import { AvroContainer } from './avro-container.ts';
import { avroConverter } from './avro-values.ts';

export interface AvroOptions {
  /** Reader schema; the one in the file when absent. */
  readonly schema: unknown;
  readonly name: string;
  readonly signal: AbortSignal;
  /** Told the schema the file was written with. */
  readonly onSchema: (schema: unknown) => void;
}

type Unpack = (packed: Buffer) => Buffer;

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
  options.onSchema(schema);
  const unpack = (await codecs())[codec];
  if (unpack === undefined) throw new Error(`the codec ${JSON.stringify(codec)} is not known`);
  const decode = await decoder(schema, options.schema);
  const convert = avroConverter(options.schema ?? schema);
  let batch: JsonValue[] = [];
  for (let block = await container.next(); block !== undefined; block = await container.next()) {
    const data = unpack(block.data);
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

/** Reads a value as it was written, and hands it over in the form of the schema to read with. */
async function decoder(written: unknown, wanted: unknown): Promise<Decode> {
  const { default: avro } = await import('avsc');
  const parse = (schema: unknown) =>
    avro.Type.forSchema(schema as string, {
      registry: { long: longType(avro) },
      wrapUnions: 'never',
    });
  const type = parse(written);
  if (wanted === undefined) return (data, at) => type.decode(data, at);
  const reader = parse(wanted);
  const resolver = reader.createResolver(type);
  return (data, at) => reader.decode(data, at, resolver);
}

/** 64-bit integers digit by digit, instead of an error beyond 2^53. */
function longType(avro: typeof import('avsc')) {
  return avro.types.LongType.__with({
    fromBuffer: (buffer: Buffer) => buffer.readBigInt64LE(),
    toBuffer: (value: bigint) => {
      const buffer = Buffer.alloc(8);
      buffer.writeBigInt64LE(value);
      return buffer;
    },
    fromJSON: (value: number | string) => BigInt(value),
    toJSON: (value: bigint) => Number(value),
    isValid: (value: unknown) => typeof value === 'bigint',
    compare: (a: bigint, b: bigint) => (a === b ? 0 : a < b ? -1 : 1),
  });
}

const CHECKSUM_BYTES = 4;

async function codecs(): Promise<Readonly<Record<string, Unpack>>> {
  const { compressors } = await import('hyparquet-compressors');
  return {
    null: (buffer) => buffer,
    deflate: (buffer) => inflateRawSync(buffer),
    zstandard: (buffer) => zstdDecompressSync(buffer),
    snappy: (buffer) => {
      const packed = buffer.subarray(0, -CHECKSUM_BYTES);
      return Buffer.from(compressors.SNAPPY?.(packed, snappyLength(packed)) ?? []);
    },
  };
}

/** Snappy data starts with its unpacked length, seven bits a byte. */
function snappyLength(bytes: Uint8Array): number {
  let length = 0;
  for (let at = 0; at < 5; at += 1) {
    const byte = bytes[at] ?? 0;
    length += (byte & 0x7f) * 2 ** (7 * at);
    if (byte < 0x80) break;
  }
  return length;
}
