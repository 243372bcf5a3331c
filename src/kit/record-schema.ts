/**
 * What is known of the fields of records: names, logical types and whether they may be null. The
 * types are those of Apache Arrow, by name and meaning.
 *
 * In a record a value has one form for each type. Sources produce it and sinks read it; with the
 * schema at its side, a sink knows that `"aGk="` are two bytes and not four letters.
 *
 * | type                      | value in a record                                                  |
 * | ------------------------- | ------------------------------------------------------------------ |
 * | bool                      | true or false                                                      |
 * | int8 … int64, uint8 …     | number, or bigint beyond the safe range of a double                |
 * | float32, float64          | number, or one of the texts `NaN`, `Infinity`, `-Infinity`         |
 * | decimal                   | text with exactly the digits it has; `NaN` and the infinities      |
 * | utf8                      | text                                                               |
 * | binary                    | text: base64 with padding                                          |
 * | date                      | text: `2024-05-06`                                                 |
 * | time                      | text: `07:08:09.5`, with the digits it has                         |
 * | timestamp without a zone  | text: `2024-05-06T07:08:09.5`, with the digits it has              |
 * | timestamp with a zone     | text: `2024-05-06T07:08:09.5Z`, an instant                         |
 * | interval                  | text: an ISO 8601 duration                                         |
 * | uuid                      | text with hyphens, lower case                                      |
 * | json                      | the JSON value; `JSON_NULL` where the value is the JSON null       |
 * | list                      | array of values of the type of its items                           |
 * | struct                    | object                                                             |
 * | map                       | object, where keys are utf8; otherwise array of `{key, value}`     |
 *
 * Null is null for each type. Dates and times that ISO 8601 cannot express (before year 1, after
 * year 9999, `infinity`) keep the text of their database. Arrays of several dimensions, which their
 * type does not tell, are lists in lists. Those that do not count from one keep their text, and those
 * of several dimensions whose items are documents, because such an item may be a list itself.
 */

import { isListedFirst } from '../lib/text/member-order.ts';
import type { JsonValue } from '../lib/text/json.ts';

export const SIMPLE_TYPES = [
  'bool',
  'int8',
  'int16',
  'int32',
  'int64',
  'uint8',
  'uint16',
  'uint32',
  'uint64',
  'float32',
  'float64',
  'utf8',
  'binary',
  'date',
  'time',
  'interval',
  'uuid',
  'json',
] as const;

export type SimpleTypeName = (typeof SIMPLE_TYPES)[number];

export const TIME_UNITS = ['s', 'ms', 'us', 'ns'] as const;
export type TimeUnit = (typeof TIME_UNITS)[number];

export interface DecimalType {
  readonly kind: 'decimal';
  /** Both are absent where the database sets no limit. */
  readonly precision?: number;
  readonly scale?: number;
}

export interface TimestampType {
  readonly kind: 'timestamp';
  readonly unit: TimeUnit;
  /** Absent for a wall clock without a zone. Values of a zone are instants, written in UTC. */
  readonly zone?: string;
}

export type RecordType =
  | { readonly kind: SimpleTypeName }
  | DecimalType
  | TimestampType
  | { readonly kind: 'list'; readonly item: RecordType }
  | { readonly kind: 'struct'; readonly fields: readonly RecordField[] }
  | { readonly kind: 'map'; readonly key: RecordType; readonly value: RecordType };

/**
 * The type of a column in its database, for a destination of the same system: it can create the
 * same column. Values of types without a logical type of their own are utf8 in the spelling of that
 * database.
 */
export interface NativeType {
  /** `postgres`, `duckdb`, … */
  readonly system: string;
  /** As it is written in a statement: `tsvector`, `character(5)`. */
  readonly name: string;
}

export interface RecordField {
  readonly name: string;
  readonly type: RecordType;
  /** Whether null may occur. */
  readonly nullable: boolean;
  readonly native?: NativeType;
  /**
   * Of a json field: what is known of the members of its values where they are objects, each of which
   * may be missing. The column of a destination stays one of documents.
   */
  readonly inside?: readonly RecordField[];
  /** For a type that was inferred from values: what was seen of them. */
  readonly evidence?: TypeEvidence;
}

export interface TypeEvidence {
  /** Values that were looked at. */
  readonly values: number;
  /** Nulls, and empty texts where those mean null. */
  readonly empty: number;
  /** The record that decided, where one did. */
  readonly because?: string;
}

/** Made once for a run and shared by all its pages. */
export interface RecordSchema {
  /** In the order in which records list them. */
  readonly fields: readonly RecordField[];
  /**
   * Fields beyond these may occur, and records may lack some of these. When absent, records have
   * exactly these fields.
   */
  readonly others?: boolean;
  /**
   * Names in the order of the source, also of fields of unknown types. Only where that of `fields` and
   * of records does not tell it (`orderOf`).
   */
  readonly order?: readonly string[];
}

/** What a source tells that knows the names of its columns, and the types of some or of none. */
export function orderOf(
  names: readonly string[],
  fields: readonly RecordField[] = [],
): RecordSchema | undefined {
  const order = names.some(isListedFirst) ? { order: [...names] } : {};
  return knownSchema({ fields, others: true, ...order });
}

/** What of a schema says in which order records are written; `undefined` where they tell it. */
export function onlyOrder(schema: RecordSchema | undefined): RecordSchema | undefined {
  return schema && orderOf(schema.order ?? schema.fields.map(({ name }) => name));
}

/** Whether records may list their fields in another order than the source. */
export function hasOwnOrder({ order, fields }: RecordSchema): boolean {
  return (order ?? fields.map(({ name }) => name)).some(isListedFirst);
}

/**
 * The names in the order in which they came, but those that a record lists before all others, such
 * as `2024`, where the schema has them: behind the field that stands before them there.
 */
export function inSchemaOrder(
  names: Iterable<string>,
  schema: RecordSchema | undefined,
): readonly string[] {
  const all = new Set(names);
  const told = schema?.order ?? schema?.fields.map(({ name }) => name) ?? [];
  const known = told.filter((name) => all.has(name));
  const moved = new Set(known.filter(isListedFirst));
  const ordered = [...all].filter((name) => !moved.has(name));
  for (const name of moved) {
    const before = known[known.indexOf(name) - 1];
    ordered.splice(before === undefined ? 0 : ordered.indexOf(before) + 1, 0, name);
  }
  return ordered;
}

/** Nothing is known. */
export const UNKNOWN_SCHEMA: RecordSchema = Object.freeze({ fields: [], others: true });

export function fieldOf(schema: RecordSchema | undefined, name: string): RecordField | undefined {
  return schema?.fields.find((field) => field.name === name);
}

/** A schema that says nothing is the same as none. */
export function knownSchema(schema: RecordSchema): RecordSchema | undefined {
  const { fields, others, order } = schema;
  return fields.length === 0 && others === true && order === undefined ? undefined : schema;
}

/** Each field as `change` leaves it; fields for which it returns `undefined` are gone. */
export function mapFields(
  schema: RecordSchema,
  change: (field: RecordField) => RecordField | undefined,
): RecordSchema {
  const fields = schema.fields.map(change).filter((field) => field !== undefined);
  return { ...schema, fields };
}

/** All fields under other names, those of unknown types too. */
export function withNames(schema: RecordSchema, nameOf: (name: string) => string): RecordSchema {
  const renamed = mapFields(schema, (field) => ({ ...field, name: nameOf(field.name) }));
  return schema.order === undefined ? renamed : { ...renamed, order: schema.order.map(nameOf) };
}

/** The schema with this field replaced, or added at the end. */
export function withField(schema: RecordSchema, field: RecordField): RecordSchema {
  const index = schema.fields.findIndex(({ name }) => name === field.name);
  const fields = index === -1 ? [...schema.fields, field] : schema.fields.with(index, field);
  const { order } = schema;
  return order === undefined || order.includes(field.name)
    ? { ...schema, fields }
    : { ...schema, fields, order: [...order, field.name] };
}

/**
 * The listed fields get a type, and may be null if they might before or `toNull` says so. Where other
 * fields may occur, they are added to the known ones.
 */
export function withTypes(
  schema: RecordSchema,
  names: readonly string[],
  type: RecordType,
  { toNull = false }: { readonly toNull?: boolean } = {},
): RecordSchema {
  return names.reduce((changed, name) => {
    const before = fieldOf(changed, name);
    if (before === undefined && schema.others !== true) return changed;
    return withField(changed, { name, type, nullable: toNull || (before?.nullable ?? true) });
  }, schema);
}

/** Nothing is known of the listed fields any more, not even whether they occur. */
export function forgetFields(schema: RecordSchema, names: readonly string[]): RecordSchema {
  const fields = schema.fields.filter(({ name }) => !names.includes(name));
  return { ...schema, fields, others: true };
}

/** A constant is written into a field of every record. */
export function withConstant(schema: RecordSchema, name: string, value: JsonValue): RecordSchema {
  const type = typeOfConstant(value);
  return type === undefined
    ? forgetFields(schema, [name])
    : withField(schema, { name, type, nullable: false });
}

const INT64_MAX = 2n ** 63n - 1n;

/** `undefined` for null, which has every type, and for integers of more than 64 bits. */
export function typeOfConstant(value: JsonValue): RecordType | undefined {
  switch (typeof value) {
    case 'boolean':
      return { kind: 'bool' };
    case 'number':
      return { kind: Number.isSafeInteger(value) ? 'int64' : 'float64' };
    case 'bigint':
      return value <= INT64_MAX && value >= -INT64_MAX - 1n ? { kind: 'int64' } : undefined;
    case 'string':
      return { kind: 'utf8' };
    default:
      return value === null ? undefined : { kind: 'json' };
  }
}

/** Types whose values are texts in a record. */
export function isTextForm({ kind }: RecordType): boolean {
  return TEXT_FORMS.has(kind);
}

const TEXT_FORMS: ReadonlySet<string> = new Set([
  'utf8',
  'binary',
  'date',
  'time',
  'timestamp',
  'interval',
  'uuid',
  'decimal',
]);
