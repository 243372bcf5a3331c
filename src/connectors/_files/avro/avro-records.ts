import { inflateRawSync, zstdDecompressSync } from 'node:zlib';
import { ConnectorError, messageOf } from '../../../lib/errors.ts';
import type { JsonValue } from '../../../lib/text/json.ts';
import { AvroContainer } from './avro-container.ts';
import type { Convert } from '../parquet/parquet-values.ts';
import { avroConverter, hasWideUnion } from './avro-values.ts';

export interface AvroOptions {
  /** Reader schema; the one in the file when absent. */
  readonly schema: unknown;
  readonly name: string;
  readonly signal: AbortSignal;
  /** Called with the schema the file was written with. */
  readonly onSchema: (schema: unknown) => void;
}

type Decompress = (compressed: Buffer) => Buffer;

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
  const known = await codecs();
  const decompress = known[codec];
  if (decompress === undefined)
    throw new ConnectorError(
      'data',
      `cannot read ${options.name} as Avro: its compression ${JSON.stringify(codec)} is not available`,
      { hint: `write it with one of: ${Object.keys(known).join(', ')}` },
    );
  const { decode, convert } = await readingOf(schema, options.schema);
  let batch: JsonValue[] = [];
  for (let block = await container.next(); block !== undefined; block = await container.next()) {
    const data = decompress(block.data);
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

/** Reads a value as it was written, and gives it the form of the schema to read with. */
async function readingOf(
  written: unknown,
  wanted: unknown,
): Promise<{ decode: Decode; convert: Convert }> {
  const { default: avro } = await import('avsc');
  const wrapped = hasWideUnion(written) || hasWideUnion(wanted);
  const long = longType(avro);
  const parse = (schema: unknown) =>
    avro.Type.forSchema(schema as string, {
      // Not as an entry of the registry: that does not reach longs with a logical type.
      typeHook: (one) => (isLong(one) ? long : undefined),
      wrapUnions: wrapped ? 'always' : 'never',
    });
  const type = parse(written);
  if (wanted === undefined)
    return {
      decode: (data, at) => type.decode(data, at),
      convert: avroConverter(written, type, wrapped),
    };
  const reader = parse(wanted);
  const resolver = reader.createResolver(type);
  return {
    decode: (data, at) => reader.decode(data, at, resolver),
    convert: avroConverter(wanted, reader, wrapped),
  };
}

function isLong(schema: unknown): boolean {
  return (
    schema === 'long' ||
    (typeof schema === 'object' &&
      schema !== null &&
      (schema as { type?: unknown }).type === 'long')
  );
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

async function codecs(): Promise<Readonly<Record<string, Decompress>>> {
  const { compressors } = await import('hyparquet-compressors');
  return {
    null: (buffer) => buffer,
    deflate: (buffer) => inflateRawSync(buffer),
    zstandard: (buffer) => zstdDecompressSync(buffer),
    snappy: (buffer) => {
      const compressed = buffer.subarray(0, -CHECKSUM_BYTES);
      return Buffer.from(compressors.SNAPPY?.(compressed, snappyLength(compressed)) ?? []);
    },
  };
}

/** Snappy data starts with its decompressed length, seven bits a byte. */
function snappyLength(bytes: Uint8Array): number {
  let length = 0;
  for (let at = 0; at < 5; at += 1) {
    const byte = bytes[at] ?? 0;
    length += (byte & 0x7f) * 2 ** (7 * at);
    if (byte < 0x80) break;
  }
  return length;
}
