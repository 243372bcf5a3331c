/** Values of items, as the service writes them with their types, and as JSON. */
import type { AttributeValue } from '@aws-sdk/client-dynamodb';
import { RecordError } from '../../lib/errors.ts';
import { exactNumber } from '../../lib/text/exact-number.ts';
import {
  isObject,
  jsonText,
  setField,
  type JsonObject,
  type JsonValue,
} from '../../lib/text/json.ts';
import { documentText, isLiteral, plainJson } from '../../lib/text/json-literal.ts';

export type Item = Record<string, AttributeValue>;

/** Sets are lists, and bytes base64; a number with more digits than JSON keeps is a text. */
export function jsonOf(value: AttributeValue): JsonValue {
  if (value.S !== undefined) return value.S;
  if (value.N !== undefined) return numberOf(value.N);
  if (value.BOOL !== undefined) return value.BOOL;
  if (value.B !== undefined) return base64(value.B);
  if (value.M !== undefined) return recordOf(value.M);
  if (value.L !== undefined) return value.L.map(jsonOf);
  if (value.SS !== undefined) return value.SS;
  if (value.NS !== undefined) return value.NS.map(numberOf);
  if (value.BS !== undefined) return value.BS.map(base64);
  return null;
}

export function recordOf(item: Item): JsonObject {
  const record: JsonObject = {};
  for (const [name, value] of Object.entries(item)) setField(record, name, jsonOf(value));
  return record;
}

function numberOf(text: string): JsonValue {
  return exactNumber(Number(text), text) ?? text;
}

function base64(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('base64');
}

export function attributeOf(value: JsonValue): AttributeValue {
  if (value === null) return { NULL: true };
  if (Array.isArray(value)) return { L: value.map(attributeOf) };
  switch (typeof value) {
    case 'string':
      return { S: value };
    case 'boolean':
      return { BOOL: value };
    case 'object':
      return isLiteral(value) ? literalAttribute(value) : { M: itemOf(value) };
    default:
      return { N: jsonText(value) };
  }
}

/** A number keeps its digits: the service holds more of them than JavaScript. */
function literalAttribute(value: JsonValue): AttributeValue {
  const plain = plainJson(value);
  return typeof plain === 'number' ? { N: documentText(value) } : attributeOf(plain);
}

export function itemOf(record: JsonObject): Item {
  const item: Item = {};
  for (const [name, value] of Object.entries(record)) {
    const attribute = { value: attributeOf(value), enumerable: true, writable: true };
    Object.defineProperty(item, name, { ...attribute, configurable: true });
  }
  return item;
}

const TYPES = ['S', 'N', 'BOOL', 'NULL', 'B', 'M', 'L', 'SS', 'NS', 'BS'];

/** Values of expressions may have their types, as the service writes them. */
export function expressionValues(values: Readonly<Record<string, JsonValue>>): Item {
  return Object.fromEntries(
    Object.entries(values).map(([name, value]) => [name, typedValue(value)]),
  );
}

function typedValue(value: JsonValue): AttributeValue {
  if (!isObject(value)) return attributeOf(value);
  const [only, ...more] = Object.entries(value);
  if (only === undefined || more.length > 0) return attributeOf(value);
  const [type, inner] = only;
  if (!TYPES.includes(type)) return attributeOf(value);
  const bytes = (one: JsonValue): Uint8Array => Buffer.from(jsonText(one), 'base64');
  const list = Array.isArray(inner) ? inner : [];
  switch (type) {
    case 'B':
      return { B: bytes(inner) };
    case 'BS':
      return { BS: list.map(bytes) };
    case 'M':
      return isObject(inner) ? { M: expressionValues(inner) } : attributeOf(value);
    case 'L':
      return { L: list.map(typedValue) };
    case 'N':
      return { N: jsonText(inner) };
    case 'NS':
      return { NS: list.map(jsonText) };
    default:
      return value as unknown as AttributeValue;
  }
}

export interface KeyField {
  readonly name: string;
  readonly type: 'S' | 'N' | 'B';
}

const WANTED = { S: 'text', N: 'a number', B: 'base64 text' } as const;

/** A field of a key has the type that the table says. */
export function keyAttribute(record: JsonObject, { name, type }: KeyField): AttributeValue {
  const value = record[name] ?? null;
  if (type === 'S' && typeof value === 'string' && value !== '') return { S: value };
  if (type === 'N' && (typeof value === 'number' || typeof value === 'bigint'))
    return { N: jsonText(value) };
  if (type === 'B' && typeof value === 'string' && value !== '') {
    const bytes = Buffer.from(value, 'base64');
    if (bytes.toString('base64') === value) return { B: bytes };
  }
  throw new RecordError('Sink', `the key \`${name}\` of the table must be ${WANTED[type]}`);
}

/** About what the service counts. */
export function sizeOf(value: AttributeValue): number {
  if (value.S !== undefined) return Buffer.byteLength(value.S);
  if (value.N !== undefined) return Math.ceil(value.N.length / 2) + 1;
  if (value.B !== undefined) return value.B.length;
  if (value.M !== undefined) return 3 + itemSize(value.M);
  if (value.L !== undefined) return 3 + value.L.reduce((sum, one) => sum + 1 + sizeOf(one), 0);
  const texts = value.SS ?? value.NS;
  if (texts !== undefined) return texts.reduce((sum, one) => sum + Buffer.byteLength(one), 0);
  return value.BS?.reduce((sum, one) => sum + one.length, 0) ?? 1;
}

export function itemSize(item: Item): number {
  let sum = 0;
  for (const [name, value] of Object.entries(item))
    sum += Buffer.byteLength(name) + sizeOf(value) + 1;
  return sum;
}
