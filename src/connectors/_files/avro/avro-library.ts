/** Types of the library, with 64-bit integers digit by digit. */
import type avsc from 'avsc';
import { withLibraryNames } from './avro-names.ts';

export interface AvroLibrary {
  /**
   * `wrapped`: values of unions name their branch. Names that Avro does not allow have another form in
   * the type (`libraryName`).
   */
  typeOf(schema: unknown, wrapped: boolean): avsc.Type;
}

export async function avroLibrary(): Promise<AvroLibrary> {
  const { default: avro } = await import('avsc');
  const long = longType(avro);
  return {
    typeOf: (schema, wrapped) =>
      avro.Type.forSchema(withLibraryNames(schema) as string, {
        // Not as an entry of the registry: that does not reach longs with a logical type.
        typeHook: (one) => (isLong(one) ? long : undefined),
        wrapUnions: wrapped ? 'always' : 'never',
      }),
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
