/**
 * Documents of BSON as JSON, in the relaxed form of MongoDB Extended JSON (version 2): what JSON has
 * no type for is an object with one key that begins with `$`.
 */
import { BSON, type Binary, type BSONRegExp, type Code, type DBRef, type Timestamp } from 'mongodb';
import type { JsonObject, JsonValue } from '../text/json.ts';

/** Integers keep all their digits, and bytes and expressions their type. */
const READING = {
  useBigInt64: true,
  promoteBuffers: false,
  bsonRegExp: true,
} as const;

export function jsonOfBson(bytes: Uint8Array): JsonObject {
  return replaced(BSON.deserialize(bytes, READING));
}

/** Everything of the document becomes JSON, in its place: it was made for nobody else. */
function replaced(document: Record<string, unknown>): JsonObject {
  for (const key of Object.keys(document)) {
    const value = document[key];
    if (typeof value === 'string' || typeof value === 'boolean' || value === null) continue;
    // The key is one that the document has, so no setter of the prototype is called.
    document[key] = jsonOf(value);
  }
  return document as JsonObject;
}

export function jsonOf(value: unknown): JsonValue {
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return value;
    case 'number':
      return Number.isFinite(value) ? value : { $numberDouble: String(value) };
    case 'bigint':
      return Number.isSafeInteger(Number(value)) ? Number(value) : value;
    case 'undefined':
      return { $undefined: true };
    default:
      return value === null ? null : jsonOfObject(value as Typed);
  }
}

type Typed = object & { readonly _bsontype?: string };

function jsonOfObject(value: Typed): JsonValue {
  if (Array.isArray(value)) return value.map(jsonOf);
  if (value instanceof Date) return { $date: dateText(value) };
  const { _bsontype: type } = value;
  if (typeof type !== 'string') return replaced(value);
  return WRAPPERS[type]?.(value as never) ?? replaced(value);
}

type Written = { toString(): string };

const WRAPPERS: Readonly<Record<string, (value: never) => JsonValue>> = {
  ObjectId: (value: { toHexString(): string }) => ({ $oid: value.toHexString() }),
  Decimal128: (value: Written) => ({ $numberDecimal: value.toString() }),
  Binary: (value: Binary) => ({
    $binary: {
      base64: value.toString('base64'),
      subType: value.sub_type.toString(16).padStart(2, '0'),
    },
  }),
  Timestamp: ({ t, i }: Timestamp) => ({ $timestamp: { t, i } }),
  BSONRegExp: ({ pattern, options }: BSONRegExp) => ({
    $regularExpression: { pattern, options },
  }),
  Code: ({ code, scope }: Code): JsonObject =>
    scope === null || scope === undefined
      ? { $code: code }
      : { $code: code, $scope: replaced(scope) },
  BSONSymbol: (value: Written) => ({ $symbol: value.toString() }),
  MinKey: () => ({ $minKey: 1 }),
  MaxKey: () => ({ $maxKey: 1 }),
  DBRef: ({ collection, oid, db, fields }: DBRef) => ({
    $ref: collection,
    $id: jsonOf(oid),
    ...(db === undefined ? {} : { $db: db }),
    ...replaced(fields),
  }),
  Long: (value: { toBigInt(): bigint }) => jsonOf(value.toBigInt()),
  Int32: (value: { valueOf(): number }) => value.valueOf(),
  Double: (value: { valueOf(): number }) => jsonOf(value.valueOf()),
};

/** Days that RFC 3339 cannot express are milliseconds since 1970. */
function dateText(value: Date): JsonValue {
  const at = value.getTime();
  if (Number.isNaN(at) || at < FIRST || at > LAST) return { $numberLong: String(at) };
  return value.toISOString().replace('.000Z', 'Z');
}

/** The relaxed form ends with the year 9999, and begins with 1970. */
const FIRST = 0;
const LAST = Date.UTC(9999, 11, 31, 23, 59, 59, 999);
