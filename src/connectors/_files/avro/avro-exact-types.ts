/**
 * Types of the library that give every value exactly, and none for bytes that no writer makes. The
 * library's own pass over such bytes: a text gets U+FFFD, a boolean is true, a number is cut.
 */
import { isUtf8 } from 'node:buffer';
import type avsc from 'avsc';

/** What the library reads from. Behind the end of the bytes it gives nothing, and is not valid. */
interface Tap {
  readonly buf: Buffer;
  readonly pos: number;
  isValid(): boolean;
  readBoolean(): boolean;
  readInt(): number;
  readLong(): number;
  skipLong(): void;
  readString(): string | undefined;
}

/** A type that reads, or what the library puts in its place to read with another schema. */
interface Reads {
  _read(tap: Tap): unknown;
}

/** A map as it is stored; an object would lose keys. */
export type StoredEntry = readonly [key: string, value: unknown];

const INT_MAX = 2 ** 31 - 1;

/** The types that are used in the place of the library's, by their names in a schema. */
export type ExactTypes = Readonly<Record<string, (schema: object, opts: unknown) => avsc.Type>>;

export function exactTypes({ types }: typeof import('avsc')): ExactTypes {
  // The library also calls `_read` with its own object as `this`, which has types of its own inside.
  class ExactBoolean extends types.BooleanType {
    _read(tap: Tap): boolean {
      const byte = tap.buf[tap.pos] ?? 0;
      if (byte > 1) throw new RangeError(`a boolean of ${byte}`);
      return tap.readBoolean();
    }
  }
  class ExactInt extends types.IntType {
    _read(tap: Tap): number {
      const value = tap.readInt();
      if (value > INT_MAX || value < -INT_MAX - 1)
        throw new RangeError('an int of more than 32 bits');
      return value;
    }
  }
  class ExactString extends types.StringType {
    _read(tap: Tap): string | undefined {
      return readText(tap);
    }
  }
  class ExactArray extends types.ArrayType {
    _read(this: Reads & { readonly itemsType: Reads }, tap: Tap): unknown[] {
      const { itemsType } = this;
      const items: unknown[] = [];
      readItems(tap, () => items.push(itemsType._read(tap)));
      return items;
    }
  }
  class ExactMap extends types.MapType {
    _read(this: Reads & { readonly valuesType: Reads }, tap: Tap): StoredEntry[] {
      const { valuesType } = this;
      const entries: StoredEntry[] = [];
      readItems(tap, () => entries.push([readText(tap) ?? '', valuesType._read(tap)]));
      return entries;
    }
  }
  const long = longType(types);
  return {
    boolean: () => new ExactBoolean(),
    int: () => new ExactInt(),
    long: () => long,
    string: () => new ExactString(),
    array: (schema, opts) => new ExactArray(schema as never, opts),
    map: (schema, opts) => new ExactMap(schema as never, opts),
  };
}

/** Blocks of items, each with its count. A negative count is followed by the size of the block. */
function readItems(tap: Tap, readItem: () => void): void {
  for (let count = tap.readLong(); count !== 0; count = tap.readLong()) {
    if (count < 0) tap.skipLong();
    for (let left = Math.abs(count); left > 0; left -= 1) {
      readItem();
      // A damaged count is told as soon as the bytes end.
      if (!tap.isValid()) return;
    }
  }
}

function readText(tap: Tap): string | undefined {
  const from = tap.pos;
  const text = tap.readString();
  // The letter itself may stand in a text, too.
  if (text?.includes('\uFFFD') === true && !isUtf8(tap.buf.subarray(from, tap.pos)))
    throw new RangeError('a text that is not UTF-8');
  return text;
}

/** A varint has seven bits of a number in each byte. */
const LONG_BYTES = 10;

/** 64-bit integers digit by digit, instead of an error beyond 2^53. */
function longType(types: (typeof import('avsc'))['types']): avsc.Type {
  const long = types.LongType.__with({
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
  }) as unknown as avsc.Type & Reads;
  const read = (tap: Tap): unknown => {
    const from = tap.pos;
    const value = long._read(tap);
    const more = tap.pos - from - LONG_BYTES;
    if (more > 0 || (more === 0 && (tap.buf[tap.pos - 1] ?? 0) > 1))
      throw new RangeError('a long of more than 64 bits');
    return value;
  };
  return Object.create(long, { _read: { value: read } }) as avsc.Type;
}
