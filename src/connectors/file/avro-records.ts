import { Readable, pipeline } from 'node:stream';
import { inflateRawSync, zstdDecompressSync } from 'node:zlib';
import { ConnectorError, messageOf } from '../../lib/errors.ts';
import type { JsonValue } from '../../lib/text/json.ts';
import { avroConverter } from './avro-values.ts';

export interface AvroOptions {
  /** Reader schema; the one in the file when absent. */
  readonly schema: unknown;
  readonly name: string;
  readonly signal: AbortSignal;
  /** Told the schema the file was written with. */
  readonly onSchema: (schema: unknown) => void;
}

type Codec = (buffer: Buffer, done: (error: Error | null, value?: Buffer) => void) => void;

const BATCH = 256;

/** The records of an Avro container file, block by block. */
export async function* avroRecords(
  blocks: AsyncIterable<Uint8Array>,
  options: AvroOptions,
): AsyncGenerator<JsonValue[]> {
  const { default: avro } = await import('avsc');
  const registry = { long: longType(avro) };
  const parse = (schema: unknown) =>
    avro.Type.forSchema(schema as string, { registry: { ...registry }, wrapUnions: 'never' });
  const decoder = new avro.streams.BlockDecoder({
    parseHook: parse,
    codecs: await codecs(),
    ...(options.schema === undefined ? {} : { readerSchema: parse(options.schema) }),
  });
  let convert = options.schema === undefined ? undefined : avroConverter(options.schema);
  // The parsed type forgets logical types; the header has the schema as it was written.
  decoder.on(
    'metadata',
    (_type: unknown, _codec: unknown, header: { meta: Record<string, Buffer> }) => {
      const written = JSON.parse(
        header.meta['avro.schema']?.toString('utf8') ?? '"null"',
      ) as unknown;
      options.onSchema(written);
      convert ??= avroConverter(written);
    },
  );
  const input = Readable.from(blocks, { objectMode: true, highWaterMark: 1 });
  // The outcome reaches us through the iteration below.
  pipeline(input, decoder as unknown as NodeJS.WritableStream, () => {});
  let batch: JsonValue[] = [];
  try {
    for await (const value of decoder as unknown as AsyncIterable<unknown>) {
      batch.push((convert ?? avroConverter('null'))(value));
      if (batch.length < BATCH) continue;
      yield batch;
      batch = [];
    }
  } catch (error) {
    options.signal.throwIfAborted();
    if (error instanceof ConnectorError) throw error;
    throw new ConnectorError('data', `cannot read ${options.name} as Avro: ${messageOf(error)}`, {
      cause: error,
    });
  }
  if (batch.length > 0) yield batch;
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

async function codecs(): Promise<Record<string, Codec>> {
  const { compressors } = await import('hyparquet-compressors');
  return {
    null: sync((buffer) => buffer),
    deflate: sync((buffer) => inflateRawSync(buffer)),
    zstandard: sync((buffer) => zstdDecompressSync(buffer)),
    snappy: sync((buffer) => {
      const packed = buffer.subarray(0, -CHECKSUM_BYTES);
      return Buffer.from(compressors.SNAPPY?.(packed, snappyLength(packed)) ?? []);
    }),
  };
}

function sync(unpack: (buffer: Buffer) => Buffer): Codec {
  return (buffer, done) => {
    try {
      done(null, unpack(buffer));
    } catch (error) {
      done(error instanceof Error ? error : new Error(String(error)));
    }
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
