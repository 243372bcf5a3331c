/** The types of the columns of a file, from the schema of the records or learned from values. */
import { columnTypeIn, isExactDouble } from '../../../kit/column-type.ts';
import { isLiteral, plainJson } from '../../../lib/text/json-literal.ts';
import { isObject, type JsonObject, type JsonValue } from '../../../lib/text/json.ts';
import { ConnectorError } from '../../../lib/errors.ts';
import {
  inSchemaOrder,
  type NativeType,
  type RecordField,
  type RecordSchema,
  type RecordType,
} from '../../../kit/record-schema.ts';
import { typeText } from '../../../kit/type-text.ts';
import { withKeys } from './map-keys.ts';

/**
 * The type of a column. `unknown`: only nulls so far. `json`: any JSON value. `typed`: a type that
 * only the schema of the records can tell, such as a date.
 */
export type ColumnKind =
  | { readonly is: 'unknown' | 'boolean' | 'number' | 'json' }
  /** `large`: one of the values would be rounded by a double. */
  | { readonly is: 'integer'; readonly large?: true }
  | {
      readonly is: 'string';
      /** Holds the texts of numbers, of which no double holds all digits. */
      readonly numbers?: true;
      /** Holds JSON documents, in a file whose readers know no type for them. */
      readonly documents?: true;
    }
  | { readonly is: 'typed'; readonly type: RecordType }
  | { readonly is: 'list'; readonly of: ColumnKind }
  | { readonly is: 'struct'; readonly fields: ReadonlyMap<string, ColumnKind> }
  | { readonly is: 'map'; readonly key: ColumnKind; readonly value: ColumnKind };

/** The most digits of a decimal that the readers of these files take. */
export const MOST_DIGITS = 38;

/**
 * The columns in which Avro and Parquet keep intervals hold neither negative ones nor microseconds.
 * They are made for values that come from such a column; other intervals are texts.
 */
export const DURATION_COLUMN: NativeType = Object.freeze({ system: 'file', name: 'duration' });

function kindOfField({ type, native }: RecordField): ColumnKind {
  const isDuration =
    native?.system === DURATION_COLUMN.system && native.name === DURATION_COLUMN.name;
  return isDuration ? { is: 'typed', type } : kindOfType(withKeys(type, native));
}

export function kindOfType(type: RecordType): ColumnKind {
  switch (type.kind) {
    case 'bool':
      return { is: 'boolean' };
    case 'int64':
      return { is: 'integer' };
    case 'utf8':
    case 'interval':
      return { is: 'string' };
    case 'json':
      return { is: 'json' };
    case 'decimal': {
      const { precision = Infinity, scale = 0 } = type;
      // Decimals without a bound keep their digits as text.
      const fits = precision <= MOST_DIGITS && scale >= 0 && scale <= precision;
      return fits ? { is: 'typed', type } : { is: 'string' };
    }
    case 'list':
      return { is: 'list', of: kindOfType(type.item) };
    case 'map':
      return { is: 'map', key: kindOfType(type.key), value: kindOfType(type.value) };
    case 'struct': {
      const fields = new Map(type.fields.map((field) => [field.name, kindOfField(field)]));
      return fields.size === 0 ? { is: 'json' } : { is: 'struct', fields };
    }
    default:
      return { is: 'typed', type };
  }
}

/** As messages name it. */
export function kindText(kind: ColumnKind): string {
  return kind.is === 'typed' ? typeText(kind.type) : kind.is;
}

/** The columns of some records; throws when a field has values of two kinds. */
export function learnColumns(
  records: readonly JsonObject[],
  schema?: RecordSchema,
): ReadonlyMap<string, ColumnKind> {
  const learner = new ColumnLearner();
  learner.learn(records, schema);
  return learner.columns;
}

/** Finds the columns of records that come batch by batch. */
export class ColumnLearner {
  #columns: ReadonlyMap<string, ColumnKind> = new Map();
  /** Kinds that a schema has told, whatever the values are. */
  readonly #declared = new Map<string, ColumnKind>();
  #schema: RecordSchema | undefined;

  get columns(): ReadonlyMap<string, ColumnKind> {
    return this.#columns;
  }

  /** Learns from all records or, when one does not fit, from none. */
  learn(records: readonly JsonObject[], schema?: RecordSchema): void {
    this.takeSchema(schema);
    const columns = new Map(this.#columns);
    const order = [...new Set([...columns.keys(), ...this.#declared.keys()])];
    for (const [name, kind] of this.#declared) columns.set(name, kind);
    for (const record of records) {
      if (this.#declared.size > 0) insertNew(order, record, columns);
      mergeFields(columns, record, this.#declared);
    }
    if (this.#schema === undefined) this.#columns = columns;
    else {
      const names = this.#declared.size === 0 ? columns.keys() : order;
      this.#columns = inOrder(columns, inSchemaOrder(names, this.#schema));
    }
  }

  /**
   * What a schema tells of a field decides over its values. Throws when the same field has had
   * another type before, as when two sources write into one sink.
   */
  takeSchema(schema: RecordSchema | undefined): void {
    if (schema === undefined || schema === this.#schema) return;
    const kinds = schema.fields.map((field) => [field.name, kindOfField(field)] as const);
    for (const [name, kind] of kinds) {
      const before = this.#declared.get(name);
      if (before !== undefined && !sameKind(before, kind))
        throw mismatch(name, kindText(before), kindText(kind));
    }
    for (const [name, kind] of kinds) this.#declared.set(name, kind);
    this.#schema = schema;
  }
}

/** Adds the fields of a record that are new, each behind the field that it follows in the record. */
function insertNew(
  order: string[],
  record: JsonObject,
  columns: ReadonlyMap<string, ColumnKind>,
): void {
  let before: string | undefined;
  for (const name of Object.keys(record)) {
    if (!columns.has(name))
      order.splice(before === undefined ? 0 : order.indexOf(before) + 1, 0, name);
    before = name;
  }
}

function inOrder<T>(map: ReadonlyMap<string, T>, order: readonly string[]): Map<string, T> {
  return new Map(order.map((name) => [name, map.get(name) as T]));
}

function sameKind(a: ColumnKind, b: ColumnKind): boolean {
  if (a.is === 'typed' && b.is === 'typed') return typeText(a.type) === typeText(b.type);
  if (a.is === 'list' && b.is === 'list') return sameKind(a.of, b.of);
  if (a.is === 'map' && b.is === 'map') return sameKind(a.key, b.key) && sameKind(a.value, b.value);
  if (a.is !== 'struct' || b.is !== 'struct') return a.is === b.is;
  const others = b.fields;
  return (
    a.fields.size === others.size &&
    [...a.fields].every(([name, kind]) => {
      const other = others.get(name);
      return other !== undefined && sameKind(kind, other);
    })
  );
}

function mergeFields(
  fields: Map<string, ColumnKind>,
  record: JsonObject,
  declared: ReadonlyMap<string, ColumnKind>,
  above = '',
): void {
  for (const [name, value] of Object.entries(record)) {
    if (declared.has(name)) continue;
    const known = fields.get(name);
    const kind = kindIn(record, name, kindOf(value, above + name));
    fields.set(name, known === undefined ? kind : merge(known, kind, above + name));
  }
}

/** `1.0` is no whole number, and a number that no double holds is stored as text. */
function kindIn(record: JsonObject | JsonValue[], name: string, kind: ColumnKind): ColumnKind {
  if (kind.is !== 'integer' && kind.is !== 'number') return kind;
  const type = columnTypeIn(record, name);
  if (type === 'string') return NUMBER_TEXT;
  return type === 'number' ? { is: type } : kind;
}

const NOTHING_TOLD: ReadonlyMap<string, ColumnKind> = new Map();

/** The kind of a value alone. */
export function kindOf(value: JsonValue, path: string): ColumnKind {
  if (value === null) return { is: 'unknown' };
  if (Array.isArray(value)) {
    return {
      is: 'list',
      of: value
        .map((item, index) => kindIn(value, String(index), kindOf(item, `${path}[]`)))
        .reduce((a, b) => merge(a, b, `${path}[]`), { is: 'unknown' }),
    };
  }
  if (isObject(value)) {
    if (isLiteral(value)) return kindOf(plainJson(value), path);
    const fields = new Map<string, ColumnKind>();
    mergeFields(fields, value, NOTHING_TOLD, `${path}.`);
    return fields.size === 0 ? { is: 'json' } : { is: 'struct', fields };
  }
  if (typeof value === 'number') return { is: Number.isSafeInteger(value) ? 'integer' : 'number' };
  if (typeof value === 'bigint')
    return isExactDouble(value) ? { is: 'integer' } : { is: 'integer', large: true };
  return { is: typeof value === 'boolean' ? 'boolean' : 'string' };
}

function merge(a: ColumnKind, b: ColumnKind, path: string): ColumnKind {
  if (a.is === 'unknown') return b;
  if (b.is === 'unknown') return a;
  if (a.is === 'list' && b.is === 'list') return { is: 'list', of: merge(a.of, b.of, `${path}[]`) };
  if (a.is === 'struct' && b.is === 'struct') return mergeStructs(a.fields, b.fields, path);
  if (a.is === 'json' && b.is === 'struct') return b;
  if (a.is === 'struct' && b.is === 'json') return a;
  if (a.is === 'string' && b.is === 'string') return a.numbers === true ? b : a;
  if (a.is === 'integer' && b.is === 'integer') return a.large === true ? a : b;
  if (a.is === b.is) return a;
  if (a.is === 'string' && a.numbers === true && isNumeric(b)) return a;
  if (b.is === 'string' && b.numbers === true && isNumeric(a)) return b;
  if (isNumeric(a) && isNumeric(b))
    return isLarge(a) || isLarge(b) ? NUMBER_TEXT : { is: 'number' };
  throw mismatch(path, a.is, b.is);
}

function mergeStructs(
  a: ReadonlyMap<string, ColumnKind>,
  b: ReadonlyMap<string, ColumnKind>,
  path: string,
): ColumnKind {
  const fields = new Map(a);
  for (const [name, kind] of b) {
    const known = fields.get(name);
    fields.set(name, known === undefined ? kind : merge(known, kind, `${path}.${name}`));
  }
  return { is: 'struct', fields };
}

const NUMBER_TEXT: ColumnKind = { is: 'string', numbers: true };

function isLarge(kind: ColumnKind): boolean {
  return kind.is === 'integer' && kind.large === true;
}

function isNumeric(kind: ColumnKind): boolean {
  return kind.is === 'integer' || kind.is === 'number';
}

export function mismatch(path: string, column: string, found: string): ConnectorError {
  return new ConnectorError(
    'data',
    `the field ${JSON.stringify(path)} is ${column}, but a record has ${found} there`,
    {
      hint: 'bring the values to one type with a `cast` transform',
    },
  );
}
