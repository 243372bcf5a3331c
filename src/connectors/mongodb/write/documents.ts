/** Records as documents: what the types of their fields say decides over what values look like. */
import { Decimal128, Double, UUID, Binary } from 'mongodb';
import { RecordError } from '../../../lib/errors.ts';
import { bsonIn, bsonOf, ofWhole, UnstorableValue } from '../../../lib/mongodb/to-bson.ts';
import {
  isObject,
  jsonText,
  setField,
  type JsonObject,
  type JsonValue,
} from '../../../lib/text/json.ts';
import { isLiteral } from '../../../lib/text/json-literal.ts';
import { parseRfc3339 } from '../../../lib/time/rfc3339.ts';
import type { RecordSchema, RecordType } from '../../../kit/record-schema.ts';
import { hasTypeForm, NOT_FINITE } from '../../../kit/typed-values.ts';

export type Fields = Record<string, unknown>;

/** Converts a value that has the form of its type; `rounds` is called where a digit is lost. */
type Convert = (value: JsonValue, rounds: () => void) => unknown;

export interface DocumentWriter {
  /** Throws a `RecordError` that names the field. */
  document(record: JsonObject): Fields;
  /** One field of a record, or `value` in its place. */
  field(name: string, value: JsonValue): unknown;
  /** Fields with values that were not stored exactly, and how many. */
  readonly rounded: Map<string, number>;
}

export function documentWriter(schema: RecordSchema | undefined): DocumentWriter {
  const converters = new Map<string, { readonly type: RecordType; readonly convert: Convert }>();
  for (const { name, type } of schema?.fields ?? []) {
    const convert = converterOf(type);
    if (convert !== undefined) converters.set(name, { type, convert });
  }
  const rounded = new Map<string, number>();
  const converted = (holder: JsonObject, name: string): unknown => {
    const value = holder[name] ?? null;
    const typed = value === null ? undefined : converters.get(name);
    if (typed === undefined || isLiteral(value) || !hasTypeForm(value, typed.type))
      return bsonIn(holder, name);
    return typed.convert(value, () => rounded.set(name, (rounded.get(name) ?? 0) + 1));
  };
  return {
    rounded,
    document(record) {
      const fields: Fields = {};
      for (const name of Object.keys(record))
        setField(
          fields as JsonObject,
          name,
          checked(name, () => converted(record, name)),
        );
      return fields;
    },
    field: (name, value) => checked(name, () => converted({ [name]: value }, name)),
  };
}

function checked(name: string, convert: () => unknown): JsonValue {
  if (name.includes('\0')) throw new RecordError('Sink', 'a name of a field has a NUL letter');
  try {
    return convert() as JsonValue;
  } catch (error) {
    if (!(error instanceof UnstorableValue)) throw error;
    throw new RecordError('Sink', `\`${name}\` cannot be stored: it ${error.message}`);
  }
}

const UUID_TYPE = 4;

/** `undefined` for types whose values are stored as they look. */
function converterOf(type: RecordType): Convert | undefined {
  switch (type.kind) {
    case 'int64':
    case 'uint32':
    case 'uint64':
      return (value) => (typeof value === 'string' ? value : ofWhole(BigInt(value as number)));
    case 'float32':
    case 'float64':
      return (value) => new Double(Number(value));
    case 'decimal':
      return decimalOf;
    case 'binary':
      return (value) => new Binary(Buffer.from(value as string, 'base64'));
    case 'uuid':
      return (value) => new Binary(new UUID(value as string).buffer, UUID_TYPE);
    case 'timestamp':
      return type.zone === undefined ? undefined : dateOf;
    case 'list':
      return listOf(type.item);
    case 'struct':
      return structOf(type.fields);
    case 'map':
      return mapOf(type.value);
    default:
      return undefined;
  }
}

/** 34 digits. */
function decimalOf(value: JsonValue, rounds: () => void): unknown {
  const text = jsonText(value);
  if (NOT_FINITE.has(value)) return Decimal128.fromString(text);
  try {
    return Decimal128.fromString(text);
  } catch {
    rounds();
    return Decimal128.fromStringWithRounding(text);
  }
}

const BEYOND_MS = /\.\d{3}\d*[1-9]/;

/** Milliseconds. Moments that no date can be keep their text. */
function dateOf(value: JsonValue, rounds: () => void): unknown {
  const text = jsonText(value);
  const date = parseRfc3339(text.replace(/(\.\d{3})\d+/, '$1'));
  if (date === undefined) return text;
  if (BEYOND_MS.test(text)) rounds();
  return date;
}

function listOf(item: RecordType): Convert | undefined {
  const convert = converterOf(item);
  if (convert === undefined) return undefined;
  const each: Convert = (value, rounds) => {
    if (Array.isArray(value)) return value.map((one) => each(one, rounds));
    return value === null || !hasTypeForm(value, item) ? bsonOf(value) : convert(value, rounds);
  };
  return each;
}

function structOf(fields: RecordSchema['fields']): Convert {
  const converters = new Map(
    fields.map(({ name, type }) => [name, { type, convert: converterOf(type) }]),
  );
  return (value, rounds) => {
    if (!isObject(value)) return bsonOf(value);
    const result: Fields = {};
    for (const [name, item] of Object.entries(value)) {
      const { type, convert } = converters.get(name) ?? {};
      const fits = item !== null && type !== undefined && hasTypeForm(item, type);
      const bson = fits && convert !== undefined ? convert(item, rounds) : bsonIn(value, name);
      setField(result as JsonObject, name, bson as JsonValue);
    }
    return result;
  };
}

function mapOf(type: RecordType): Convert | undefined {
  const convert = converterOf(type);
  if (convert === undefined) return undefined;
  return (value, rounds) => {
    if (!isObject(value)) return bsonOf(value);
    const result: Fields = {};
    for (const [name, item] of Object.entries(value)) {
      const bson = item === null ? null : convert(item, rounds);
      setField(result as JsonObject, name, bson as JsonValue);
    }
    return result;
  };
}
