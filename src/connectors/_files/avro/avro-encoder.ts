/** Values of records in the form that the library writes, by the schema of the file. */
import { arrayFault } from '../../../kit/array-shapes.ts';
import { ConnectorError } from '../../../lib/errors.ts';
import { exactField } from '../../../lib/text/json-literal.ts';
import { isObject, type JsonValue } from '../../../lib/text/json.ts';
import { hasSpellings } from '../../../lib/text/number-spelling.ts';
import { unscaledOf } from '../parquet/exact-values.ts';
import { kindOfType, mismatch, kindOf, type ColumnKind } from '../typed/column-kinds.ts';
import { fit, repeatedKey, type Place } from '../typed/fit-value.ts';
import { logicalType, primitiveType } from './avro-types.ts';
import type { AvroType, Schema, SchemaObject } from './avro-values.ts';
import { bytesOfDuration } from '../typed/duration.ts';
import { bytesOfInteger } from './avro-bytes.ts';

/** Throws when the value does not fit. Values of unions name their branch. */
export type Encode = (value: JsonValue | undefined, place: Place) => unknown;

export function avroEncoder(schema: Schema, type: AvroType): Encode {
  return new EncoderBuilder().of(schema, type, false);
}

interface FieldEncoder {
  /** How the library calls the field. */
  readonly own: string;
  readonly encode: Encode;
  /** Whether the field has a default. */
  readonly optional: boolean;
  /** Whether every object has a member of this name, which the library would take for the value. */
  readonly inherited: boolean;
}

class EncoderBuilder {
  /** Types may refer to others, and to themselves, by name. */
  readonly #known = new Map<AvroType, Encode>();

  /** `strict`: other branches of a union may take what this one does not. */
  of(schema: Schema, type: AvroType, strict: boolean): Encode {
    if (isUnion(schema)) return this.#union(schema, type);
    const encode = this.#present(schema, type, strict);
    if (typeof schema !== 'string' && schema.name !== undefined) this.#known.set(type, encode);
    return (value, place) =>
      value === null || value === undefined ? lacking(place) : encode(value, place);
  }

  #union(schemas: readonly Schema[], { types = [] }: AvroType): Encode {
    const nullable = schemas.includes('null');
    const present = schemas.flatMap((schema, index) => {
      const type = types[index] ?? {};
      return schema === 'null' ? [] : [{ schema, type, name: type.branchName ?? '' }];
    });
    const branches = present.map(({ schema, type, name }) => ({
      name,
      encode: this.of(schema, type, present.length > 1),
    }));
    const [only] = branches;
    return (value, place) => {
      if (value === null || value === undefined) return nullable ? null : lacking(place);
      if (branches.length === 1 && only !== undefined)
        return { [only.name]: only.encode(value, place) };
      return firstFitting(branches, value, place);
    };
  }

  #present(schema: Exclude<Schema, readonly Schema[]>, type: AvroType, strict: boolean): Encode {
    if (typeof schema === 'string') {
      const primitive = primitiveType(schema);
      if (primitive === undefined) return (value, place) => this.#known.get(type)?.(value, place);
      return leaf({ type: schema }, kindOfType(primitive), strict);
    }
    const logical = logicalType(schema);
    if (logical !== undefined) return leaf(schema, logicalKind(logical), strict);
    if (schema.fields !== undefined) return this.#record(schema, type);
    if (schema.items !== undefined)
      return listEncoder(this.of(schema.items, type.itemsType ?? {}, false));
    if (schema.values !== undefined)
      return mapEncoder(this.of(schema.values, type.valuesType ?? {}, false));
    if (schema.type === 'enum') return enumEncoder(schema);
    if (schema.type === 'fixed') return leaf(schema, kindOfType({ kind: 'binary' }), strict);
    return this.of(schema.type, type, strict);
  }

  #record({ fields = [] }: SchemaObject, type: AvroType): Encode {
    const encoders = new Map<string, FieldEncoder>();
    const encode: Encode = (value, place) => {
      if (!isObject(value)) throw misfit(value, 'record', place);
      const out: Record<string, unknown> = {};
      for (const [name, field] of encoders) {
        // The library writes the default of a field without a value.
        if (field.optional && !Object.hasOwn(value, name)) {
          if (field.inherited) out[field.own] = undefined;
          continue;
        }
        out[field.own] = field.encode(
          exactField(value, name),
          below(place, place.path === '' ? name : `.${name}`),
        );
      }
      for (const name of Object.keys(value))
        if (!encoders.has(name)) place.dropped(place.path === '' ? name : `${place.path}.${name}`);
      return out;
    };
    // A record may contain itself, so it is known before its fields are looked at.
    this.#known.set(type, encode);
    for (const [index, field] of fields.entries()) {
      const member = type.fields?.[index];
      const own = member?.name ?? field.name;
      encoders.set(field.name, {
        own,
        inherited: own in Object.prototype,
        encode: this.of(field.type, member?.type ?? {}, false),
        optional: field.default !== undefined,
      });
    }
    return encode;
  }
}

function isUnion(schema: Schema): schema is readonly Schema[] {
  return Array.isArray(schema);
}

/** A decimal keeps its type, however many digits it has. */
function logicalKind(type: Parameters<typeof kindOfType>[0]): ColumnKind {
  return type.kind === 'decimal' ? { is: 'typed', type } : kindOfType(type);
}

function firstFitting(
  branches: readonly { readonly name: string; readonly encode: Encode }[],
  value: JsonValue,
  place: Place,
): unknown {
  for (const { name, encode } of branches) {
    try {
      return { [name]: encode(value, place) };
    } catch (error) {
      if (!(error instanceof ConnectorError)) throw error;
    }
  }
  throw misfit(value, `one of ${branches.map(({ name }) => name).join(', ')}`, place);
}

function listEncoder(item: Encode): Encode {
  return (value, place) => {
    if (!Array.isArray(value)) throw misfit(value ?? null, 'array', place);
    const inner = below(place, '[]');
    if (!hasSpellings(value)) return value.map((one) => item(one, inner));
    return value.map((_, index) => item(exactField(value, String(index)), inner));
  };
}

/** From an object or from a list of `{key, value}`. */
function mapEncoder(encode: Encode): Encode {
  return (value, place) => {
    const inner = below(place, '.value');
    const out = Object.create(null) as Record<string, unknown>;
    const put = (name: string, item: JsonValue | undefined): void => {
      const key = utf8Text(name);
      if (key in out) throw repeatedKey(key, place);
      out[key] = encode(item, inner);
    };
    if (isObject(value)) {
      for (const key of Object.keys(value)) put(key, exactField(value, key));
      return out;
    }
    if (!Array.isArray(value)) throw misfit(value ?? null, 'map', place);
    for (const entry of value) {
      const key = isObject(entry) ? entry['key'] : undefined;
      if (!isObject(entry) || typeof key !== 'string') throw misfit(value, 'map', place);
      put(key, exactField(entry, 'value'));
    }
    return out;
  };
}

function enumEncoder({ symbols = [] }: SchemaObject): Encode {
  return (value, place) => {
    if (typeof value === 'string' && symbols.includes(value)) return value;
    throw misfit(value ?? null, `one of ${symbols.join(', ')}`, place);
  };
}

function leaf(schema: SchemaObject, kind: ColumnKind, strict: boolean): Encode {
  const fitted: ColumnKind =
    kind.is === 'string' && !strict ? { is: 'string', numbers: true } : kind;
  const stored = storedForm(schema);
  return (value, place) => {
    const form = stored(fit(value, fitted, place));
    if (form === undefined) throw misfit(value ?? null, nameOf(schema), place);
    return form;
  };
}

function nameOf({ type, logicalType: logical, size }: SchemaObject): string {
  const stored = typeof type === 'string' ? type : 'value';
  return logical ?? (size === undefined ? stored : `${stored} of ${size} bytes`);
}

type Stored = (fitted: unknown) => unknown;

/** Gives `undefined` for what the schema cannot hold. */
function storedForm(schema: SchemaObject): Stored {
  const { type, logicalType: logical, scale = 0, size } = schema;
  if (logical === 'decimal')
    return (text) => bytesOfInteger(unscaledOf(text as string, scale) ?? 0n, size);
  if (logical === 'time-millis')
    return (micros) =>
      (micros as bigint) % 1000n === 0n ? Number((micros as bigint) / 1000n) : undefined;
  if (logical === 'duration') return (text) => bytesOfDuration(text as string);
  if (logical === 'uuid' && type === 'fixed')
    return (text) => Buffer.from((text as string).replaceAll('-', ''), 'hex');
  if (type === 'string') return (text) => utf8Text(text as string);
  if (type === 'bytes') return (text) => Buffer.from(text as string, 'base64');
  if (type !== 'fixed') return (value) => value;
  return (text) => {
    const bytes = Buffer.from(text as string, 'base64');
    return bytes.length === size ? bytes : undefined;
  };
}

/**
 * With U+FFFD for half a character, as in every text of UTF-8: the library counts other bytes for
 * one than it writes, after which nothing in the file can be read.
 */
function utf8Text(text: string): string {
  return text.toWellFormed();
}

function below({ path, dropped }: Place, step: string): Place {
  return { path: path + step, dropped };
}

function misfit(value: JsonValue | undefined, wanted: string, { path }: Place): ConnectorError {
  const found = value ?? null;
  const fault = wanted === 'array' || Array.isArray(found) ? arrayFault(found, path) : undefined;
  return fault ?? mismatch(path, wanted, kindOf(found, path).is);
}

function lacking({ path }: Place): never {
  throw new ConnectorError('data', `the field ${JSON.stringify(path)} has no value`, {
    hint: 'allow null in the schema of the file: `["null", …]`, or set the field with a `coalesce` transform',
  });
}
