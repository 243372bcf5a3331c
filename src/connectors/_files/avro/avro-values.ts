import { setField, type JsonObject } from '../../../lib/text/json.ts';
import { keepNegativeZeros } from '../../../lib/text/number-spelling.ts';
import type { StoredEntry } from './avro-exact-types.ts';
import { libraryName } from './avro-names.ts';
import { decimalText, signedNumber, uuidText } from '../parquet/exact-values.ts';
import { documentOf } from '../parquet/parquet-text.ts';
import { plain, type Convert } from '../parquet/parquet-values.ts';
import { durationText } from '../typed/duration.ts';
import { mapOfEntries } from '../typed/map-of-entries.ts';
import { dateText, timestampText, timeText } from '../../../lib/time/iso-text.ts';

/** A schema as JSON: a name, a list of alternatives, or a mapping with `type`. */
export type Schema = string | readonly Schema[] | SchemaObject;

export interface SchemaObject {
  readonly type: Schema;
  readonly name?: string;
  readonly logicalType?: string;
  /** How exports of BigQuery say that a text is a document. */
  readonly sqlType?: string;
  readonly precision?: number;
  readonly scale?: number;
  /** Of an enum. */
  readonly symbols?: readonly string[];
  /** Of fixed bytes. */
  readonly size?: number;
  readonly fields?: readonly AvroField[];
  readonly items?: Schema;
  readonly values?: Schema;
}

export interface AvroField {
  readonly name: string;
  readonly type: Schema;
  readonly default?: unknown;
  /** Other names under which a reader finds the field. */
  readonly aliases?: readonly string[];
}

/** What is used here of a type of the library, which is built in parallel to its schema. */
export interface AvroType {
  /** How a value of a union names this branch. */
  readonly branchName?: string | undefined;
  readonly types?: readonly AvroType[];
  readonly fields?: readonly { readonly name?: string; readonly type: AvroType }[];
  readonly itemsType?: AvroType;
  readonly valuesType?: AvroType;
}

/**
 * Whether values of unions must name their branch: their JavaScript type does not tell an int from a
 * double, nor a decimal from bytes.
 */
export function hasWideUnion(schema: unknown): boolean {
  if (Array.isArray(schema))
    return schema.filter((branch) => branch !== 'null').length > 1 || schema.some(hasWideUnion);
  if (typeof schema !== 'object' || schema === null) return false;
  const { type, fields, items, values } = schema as Partial<SchemaObject>;
  return (
    [type, items, values].some(hasWideUnion) ||
    (fields ?? []).some((field) => hasWideUnion(field.type))
  );
}

/**
 * How values of a type become JSON; its schema says what its logical types are. `wrapped` says that
 * values of unions name their branch.
 */
export function avroConverter(schema: unknown, type: AvroType, wrapped: boolean): Convert {
  return new ConverterBuilder(wrapped).of(schema as Schema, type);
}

class ConverterBuilder {
  readonly #wrapped: boolean;
  /** Types may refer to others, and to themselves, by name. */
  readonly #known = new Map<AvroType, Convert>();

  constructor(wrapped: boolean) {
    this.#wrapped = wrapped;
  }

  of(schema: Schema, type: AvroType): Convert {
    if (typeof schema === 'string') return (value) => (this.#known.get(type) ?? plain)(value);
    if (Array.isArray(schema)) return this.#union(schema as readonly Schema[], type);
    const one = schema as SchemaObject;
    const inner = logical(one) ?? this.#structure(one, type);
    const convert: Convert = (value) =>
      value === null || value === undefined ? null : inner(value);
    if (one.name !== undefined) this.#known.set(type, convert);
    return convert;
  }

  #union(schemas: readonly Schema[], { types = [] }: AvroType): Convert {
    const branches = types.map((type, index) => ({
      name: type.branchName ?? '',
      convert: this.of(schemas[index] ?? 'null', type),
    }));
    if (!this.#wrapped) {
      const [only] = branches.filter(({ name }) => name !== 'null');
      return (value) => (value === null || only === undefined ? null : only.convert(value));
    }
    const converters = new Map(branches.map(({ name, convert }) => [name, convert]));
    return (value) => {
      if (value === null) return null;
      const [[name, inner] = ['', null]] = Object.entries(value as object);
      return (converters.get(name) ?? plain)(inner);
    };
  }

  #structure(schema: SchemaObject, type: AvroType): Convert {
    if (schema.fields !== undefined) return this.#record(schema, type);
    if (schema.items !== undefined) {
      const item = this.of(schema.items, type.itemsType ?? {});
      return (value) => (Array.isArray(value) ? keepNegativeZeros(value.map(item)) : plain(value));
    }
    if (schema.values !== undefined) {
      const entry = this.of(schema.values, type.valuesType ?? {});
      return (value) => {
        // The default of a field is an object.
        const entries = Array.isArray(value) ? value : Object.entries(value as object);
        return mapOfEntries(
          (entries as StoredEntry[]).map(([key, one]) => ({ key, value: entry(one) })),
        );
      };
    }
    if (schema.symbols !== undefined) return symbolsOf(schema.symbols);
    return typeof schema.type === 'string' ? plain : this.of(schema.type, type);
  }

  #record({ fields = [] }: SchemaObject, type: AvroType): Convert {
    const members: { name: string; own: string; convert: Convert }[] = [];
    const convert: Convert = (value) => {
      const out: JsonObject = {};
      for (const { name, own, convert: inner } of members)
        setField(out, name, inner((value as Record<string, unknown>)[own]));
      return out;
    };
    // A record may contain itself, so it is known before its fields are looked at.
    this.#known.set(type, convert);
    for (const [index, { name, type: inner }] of fields.entries()) {
      const member = type.fields?.[index];
      const own = member?.name ?? name;
      members.push({ name, own, convert: this.of(inner, member?.type ?? {}) });
    }
    return convert;
  }
}

/** Values of the library have the names that it knows. */
function symbolsOf(symbols: readonly string[]): Convert {
  const names = new Map(symbols.map((symbol) => [libraryName(symbol), symbol]));
  return (value) => names.get(String(value)) ?? plain(value);
}

const LONG = { long: true } as const;

/** The types that may have each logical type; of fixed bytes, with their size. */
const STORED_AS: Readonly<Record<string, Readonly<Record<string, true | number>>>> = {
  decimal: { bytes: true, fixed: true },
  date: { int: true },
  'time-millis': { int: true },
  'time-micros': LONG,
  'timestamp-millis': LONG,
  'timestamp-micros': LONG,
  'timestamp-nanos': LONG,
  'local-timestamp-millis': LONG,
  'local-timestamp-micros': LONG,
  'local-timestamp-nanos': LONG,
  uuid: { string: true, fixed: 16 },
  duration: { fixed: 12 },
  json: { string: true },
};

/** The logical type of a schema. One that its type cannot have is ignored, as the specification says. */
export function logicalName({
  type,
  size,
  logicalType,
  sqlType = '',
}: SchemaObject): string | undefined {
  const name = logicalType ?? sqlType.toLowerCase();
  const stored = Object.hasOwn(STORED_AS, name) ? STORED_AS[name] : undefined;
  if (stored === undefined) return undefined;
  if (typeof type !== 'string') return name;
  const allowed = Object.hasOwn(stored, type) ? stored[type] : undefined;
  return allowed === true || (allowed !== undefined && allowed === size) ? name : undefined;
}

function logical(schema: SchemaObject): Convert | undefined {
  const { scale = 0 } = schema;
  switch (logicalName(schema)) {
    case 'decimal':
      return (value) =>
        value instanceof Uint8Array ? decimalText(signedNumber(value), scale) : plain(value);
    case 'date':
      return (value) => dateText(Number(value));
    case 'time-millis':
      return (value) => timeText(integer(value) * 1_000_000n);
    case 'time-micros':
      return (value) => timeText(integer(value) * 1000n);
    case 'timestamp-millis':
      return (value) => timestampText(integer(value) * 1_000_000n, true);
    case 'timestamp-micros':
      return (value) => timestampText(integer(value) * 1000n, true);
    case 'timestamp-nanos':
      return (value) => timestampText(integer(value), true);
    case 'local-timestamp-nanos':
      return (value) => timestampText(integer(value), false);
    case 'uuid':
      return (value) =>
        value instanceof Uint8Array ? uuidText(value) : String(value).toLowerCase();
    case 'json':
      return (value) => documentOf(String(value));
    case 'duration':
      return (value) => (value instanceof Uint8Array ? durationText(value) : plain(value));
    case 'local-timestamp-millis':
      return (value) => timestampText(integer(value) * 1_000_000n, false);
    case 'local-timestamp-micros':
      return (value) => timestampText(integer(value) * 1000n, false);
    default:
      return undefined;
  }
}

function integer(value: unknown): bigint {
  return BigInt(value as number | bigint);
}
