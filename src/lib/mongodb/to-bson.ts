/**
 * JSON as values of BSON. Objects in the form of MongoDB Extended JSON become what they stand for,
 * in the relaxed, the canonical and the older forms.
 */
import {
  Binary,
  BSONRegExp,
  BSONSymbol,
  Code,
  Decimal128,
  Double,
  Int32,
  Long,
  MaxKey,
  MinKey,
  ObjectId,
  Timestamp,
  UUID,
} from 'mongodb';
import { exactNumber } from '../text/exact-number.ts';
import {
  hasField,
  isObject,
  jsonText,
  setField,
  type JsonObject,
  type JsonValue,
} from '../text/json.ts';
import { isLiteral, plainJson, sourceText } from '../text/json-literal.ts';
import { spellingOf } from '../text/number-spelling.ts';
import { parseRfc3339 } from '../time/rfc3339.ts';

const INT64_MAX = 2n ** 63n - 1n;
const INT64_MIN = -(2n ** 63n);

/** A value that cannot be stored; the message says why and ends a sentence about its field. */
export class UnstorableValue extends Error {}

/** The fields of an object, whatever it looks like: a record, or the condition of a query. */
export function bsonOfFields(object: JsonObject): Record<string, unknown> {
  const fields: Record<string, unknown> = {};
  for (const key of Object.keys(object)) {
    refuseName(key);
    setField(fields as JsonObject, key, bsonIn(object, key) as JsonValue);
  }
  return fields;
}

/** A field of an object or an item of a list; a number remembers how it was written. */
export function bsonIn(holder: JsonObject | JsonValue[], key: string): unknown {
  const value = (holder as JsonObject)[key] ?? null;
  if (typeof value !== 'number') return bsonOf(value);
  const written = spellingOf(holder, key);
  return written === undefined ? ofNumber(value) : ofSpelled(value, written);
}

export function bsonOf(value: JsonValue): unknown {
  switch (typeof value) {
    case 'number':
      return ofNumber(value);
    case 'bigint':
      return ofWhole(value);
    case 'object':
      if (value === null) return null;
      if (Array.isArray(value)) return value.map((_item, index) => bsonIn(value, String(index)));
      if (isLiteral(value)) return ofLiteral(value);
      return fromObject(value);
    default:
      return value;
  }
}

/** The serialiser makes 64 bits of a `bigint` and, where they suffice, 32 of a number. */
function ofNumber(value: number): unknown {
  return Number.isSafeInteger(value) && (value | 0) !== value ? BigInt(value) : value;
}

/** More than 64 bits have their digits as a decimal number, or as a text where those are too many. */
export function ofWhole(value: bigint): unknown {
  return value <= INT64_MAX && value >= INT64_MIN ? value : decimalOrText(String(value));
}

function ofLiteral(value: JsonValue): unknown {
  const plain = plainJson(value);
  return typeof plain === 'number' ? ofSpelled(plain, sourceText(value) ?? '') : bsonOf(plain);
}

function ofSpelled(value: number, written: string): unknown {
  const exact = exactNumber(value, written);
  if (exact === undefined) return decimalOrText(written);
  if (typeof exact === 'bigint') return ofWhole(exact);
  return /[.eE]/.test(written) || Object.is(value, -0) ? new Double(value) : ofNumber(value);
}

function decimalOrText(digits: string): unknown {
  try {
    return Decimal128.fromString(digits);
  } catch {
    return digits;
  }
}

function refuseName(name: string): void {
  if (name.includes('\0')) throw new UnstorableValue('has a name with a NUL letter');
}

/** What a wrapper stands for; any other object with its fields. */
function fromObject(object: JsonObject): unknown {
  const keys = Object.keys(object);
  const [first = ''] = keys;
  if (first.startsWith('$') && Object.hasOwn(WRAPPERS, first)) {
    const found = WRAPPERS[first]?.(object[first] ?? null, object);
    if (found?.keys === keys.length) return found.make();
  }
  return bsonOfFields(object);
}

interface Wrapped {
  /** Keys that the object has in this form. */
  readonly keys: number;
  readonly make: () => unknown;
}
type Unwrap = (value: JsonValue, object: JsonObject) => Wrapped | undefined;

const one = (make: () => unknown): Wrapped => ({ keys: 1, make });

/** For forms that hold a text. A text that is not of the form is an error, not another object. */
function ofText(form: RegExp, what: string, make: (text: string) => unknown): Unwrap {
  return (value) =>
    typeof value === 'string'
      ? one(() => {
          if (form.test(value)) return make(value);
          throw new UnstorableValue(`is no ${what}`);
        })
      : undefined;
}

const WHOLE = /^[+-]?\d+$/;
const UUID_FORM = /^[0-9a-f]{8}-?(?:[0-9a-f]{4}-?){3}[0-9a-f]{12}$/i;
const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/;

const WRAPPERS: Readonly<Record<string, Unwrap>> = {
  $oid: ofText(/^[0-9a-f]{24}$/i, 'ObjectId (24 hexadecimal digits)', (text) =>
    ObjectId.createFromHexString(text),
  ),
  $date: (value) => one(() => dateOf(value)),
  $numberLong: ofText(WHOLE, '64-bit number', (text) => longOf(text)),
  $numberInt: ofText(WHOLE, '32-bit number', (text) => new Int32(text)),
  $numberDouble: ofText(/^\S+$/, 'number', (text) => new Double(Number(text))),
  $numberDecimal: ofText(/^\S+$/, 'decimal number', decimalOf),
  $uuid: ofText(UUID_FORM, 'UUID', (text) => new UUID(text)),
  $symbol: ofText(/^/, 'symbol', (text) => new BSONSymbol(text)),
  $binary: binaryOf,
  $timestamp: timestampOf,
  $regularExpression: expressionOf,
  $code: codeOf,
  $minKey: () => one(() => new MinKey()),
  $maxKey: () => one(() => new MaxKey()),
  $undefined: (value) => (value === true ? one(() => null) : undefined),
};

function longOf(text: string): unknown {
  const whole = BigInt(text.replace('+', ''));
  if (whole > INT64_MAX || whole < INT64_MIN) throw new UnstorableValue('has more than 64 bits');
  return Long.fromBigInt(whole);
}

function decimalOf(text: string): unknown {
  try {
    return Decimal128.fromString(text);
  } catch {
    throw new UnstorableValue('is no decimal number of at most 34 digits');
  }
}

function dateOf(value: JsonValue): Date {
  const inner = isObject(value) ? (value['$numberLong'] ?? null) : value;
  const at =
    typeof inner === 'string' && !WHOLE.test(inner)
      ? parseRfc3339(inner)?.getTime()
      : Number(inner);
  const date = new Date(at ?? Number.NaN);
  if (inner === null || Number.isNaN(date.getTime()))
    throw new UnstorableValue('is no date (RFC 3339, or milliseconds)');
  return date;
}

/** `{$binary: {base64, subType}}`, and the older `{$binary: base64, $type}`. */
function binaryOf(value: JsonValue, object: JsonObject): Wrapped | undefined {
  const isOld = typeof value === 'string' && hasField(object, '$type');
  if (!isOld && !isObject(value)) return undefined;
  const { base64, subType } = isObject(value)
    ? { base64: value['base64'], subType: value['subType'] }
    : { base64: value, subType: object['$type'] };
  const make = (): Binary => {
    const kind = Number.parseInt(jsonText(subType ?? ''), 16);
    if (typeof base64 !== 'string' || !BASE64.test(base64) || !(kind >= 0 && kind <= 255))
      throw new UnstorableValue('is no binary value (base64 with a hexadecimal `subType`)');
    return new Binary(Buffer.from(base64, 'base64'), kind);
  };
  return { keys: isOld ? 2 : 1, make };
}

function timestampOf(value: JsonValue): Wrapped | undefined {
  if (!isObject(value)) return undefined;
  const part = (name: string): number => {
    const found = Number(value[name] ?? Number.NaN);
    if (Number.isInteger(found) && found >= 0 && found <= 0xff_ff_ff_ff) return found;
    throw new UnstorableValue('is no timestamp (`t` and `i` are numbers of 32 bits)');
  };
  return one(() => new Timestamp({ t: part('t'), i: part('i') }));
}

function expressionOf(value: JsonValue): Wrapped | undefined {
  if (!isObject(value)) return undefined;
  const { pattern, options = '' } = value;
  return one(() => {
    if (typeof pattern === 'string' && typeof options === 'string' && !pattern.includes('\0'))
      return new BSONRegExp(pattern, options);
    throw new UnstorableValue('is no regular expression (`pattern` and `options` are texts)');
  });
}

function codeOf(value: JsonValue, object: JsonObject): Wrapped | undefined {
  if (typeof value !== 'string') return undefined;
  const scope = object['$scope'] ?? null;
  return isObject(scope)
    ? { keys: 2, make: () => new Code(value, bsonOfFields(scope)) }
    : one(() => new Code(value));
}
