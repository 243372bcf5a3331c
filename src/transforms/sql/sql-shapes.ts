/**
 * Which type of the analytical engine a field gets: that of its schema, or else learned from the
 * values, page after page, so that no value changes on the way in.
 */
import type { DuckdbColumn } from '../../lib/sql/duckdb.ts';
import { stringifyJson, type JsonObject, type JsonValue } from '../../lib/text/json.ts';
import { quoteName } from '../../lib/sql/sql-name.ts';
import { loadTyped } from './sql-typed-column.ts';

/** `unknown`: only nulls so far. `json`: values of several kinds; each stays what it is. */
export type Shape =
  | { readonly is: 'unknown' | 'boolean' | 'integer' | 'huge' | 'number' | 'string' | 'json' }
  | { readonly is: 'typed'; readonly sqlType: string }
  /** The number of its record, in a structure of which the field has this name. */
  | { readonly is: 'numbered'; readonly mark: string }
  | { readonly is: 'list'; readonly of: Shape }
  | { readonly is: 'struct'; readonly fields: ReadonlyMap<string, Shape> };

const INT64 = 2n ** 63n;
const INT128 = 2n ** 127n;
const UNKNOWN: Shape = { is: 'unknown' };
const JSON_TEXT: Shape = { is: 'json' };

const NO_TYPES: ReadonlyMap<string, Shape> = new Map();

/**
 * The shapes of `known` together with those of the records. Every record is an object. Nothing is
 * learned of fields in `typed`.
 */
export function learnShapes(
  known: ReadonlyMap<string, Shape>,
  records: readonly JsonObject[],
  typed = NO_TYPES,
): Map<string, Shape> {
  const shapes = new Map(known);
  for (const record of records) mergeFields(shapes, record, typed);
  for (const [name, shape] of typed) if (!shapes.has(name)) shapes.set(name, shape);
  return shapes;
}

function mergeFields(shapes: Map<string, Shape>, record: JsonObject, typed = NO_TYPES): void {
  for (const [name, value] of Object.entries(record)) {
    const before = shapes.get(name) ?? typed.get(name);
    if (before?.is === 'typed') {
      if (!shapes.has(name)) shapes.set(name, before);
      continue;
    }
    const shape = shapeOf(value);
    shapes.set(name, before === undefined ? shape : merge(before, shape));
  }
}

function shapeOf(value: JsonValue): Shape {
  switch (typeof value) {
    case 'boolean':
      return { is: 'boolean' };
    case 'number':
      return { is: Number.isSafeInteger(value) ? 'integer' : 'number' };
    case 'bigint':
      return {
        is:
          value >= -INT64 && value < INT64
            ? 'integer'
            : value >= -INT128 && value < INT128
              ? 'huge'
              : 'json',
      };
    case 'string':
      return { is: 'string' };
    default:
      return value === null ? UNKNOWN : Array.isArray(value) ? listOf(value) : structOf(value);
  }
}

function listOf(items: readonly JsonValue[]): Shape {
  return { is: 'list', of: items.map(shapeOf).reduce(merge, UNKNOWN) };
}

function structOf(value: JsonObject): Shape {
  const fields = new Map<string, Shape>();
  mergeFields(fields, value);
  return asStruct(fields);
}

/** The engine has no empty struct, and takes `a` and `A` for one name. */
function asStruct(fields: ReadonlyMap<string, Shape>): Shape {
  return fields.size === 0 || twice(fields.keys()) !== undefined
    ? JSON_TEXT
    : { is: 'struct', fields };
}

/** The first name that differs from another one only in case. */
export function twice(names: Iterable<string>): string | undefined {
  const seen = new Set<string>();
  for (const name of names) {
    if (seen.has(name.toLowerCase())) return name;
    seen.add(name.toLowerCase());
  }
  return undefined;
}

const WIDTH: readonly string[] = ['integer', 'huge', 'number'];

function merge(a: Shape, b: Shape): Shape {
  if (a.is === 'unknown') return b;
  if (b.is === 'unknown') return a;
  if (a.is === 'list' && b.is === 'list') return { is: 'list', of: merge(a.of, b.of) };
  if (a.is === 'struct' && b.is === 'struct') {
    const fields = new Map(a.fields);
    for (const [name, shape] of b.fields)
      fields.set(name, merge(fields.get(name) ?? UNKNOWN, shape));
    return asStruct(fields);
  }
  if (a.is === b.is) return a;
  if (WIDTH.includes(a.is) && WIDTH.includes(b.is))
    return WIDTH.indexOf(a.is) > WIDTH.indexOf(b.is) ? a : b;
  return JSON_TEXT;
}

/** The values of a field as the engine takes them, and the expression that gives them their type there. */
export interface LoadedColumn {
  readonly column: DuckdbColumn;
  expression(from: string): string;
}

export function loadColumn(
  name: string,
  shape: Shape,
  records: readonly JsonObject[],
): LoadedColumn {
  const values = records.map((record) =>
    Object.hasOwn(record, name) ? (record[name] ?? null) : null,
  );
  const as = `AS ${quoteName(name)}`;
  switch (shape.is) {
    case 'boolean':
      return {
        column: { type: 'BOOLEAN', values: values as (boolean | null)[] },
        expression: (from) => `${from} ${as}`,
      };
    case 'integer':
      return {
        column: { type: 'BIGINT', values: values.map(wholeNumber) },
        expression: (from) => `${from} ${as}`,
      };
    case 'number':
      return {
        column: {
          type: 'DOUBLE',
          values: values.map((value) => (value === null ? null : Number(value))),
        },
        expression: (from) => `${from} ${as}`,
      };
    case 'string':
      return {
        column: { type: 'VARCHAR', values: values as (string | null)[] },
        expression: (from) => `${from} ${as}`,
      };
    case 'typed': {
      const { column, expression } = loadTyped(name, shape.sqlType, values);
      return { column, expression: (from) => `${expression(from)} ${as}` };
    }
    case 'numbered':
      return {
        column: { type: 'BIGINT', values: values.map(wholeNumber) },
        expression: (from) =>
          `CASE WHEN ${from} IS NULL THEN NULL ELSE struct_pack(${quoteName(shape.mark)} := ${from}) END ${as}`,
      };
    case 'unknown':
      return {
        column: { type: 'BOOLEAN', values: values as null[] },
        expression: () => `NULL ${as}`,
      };
    default:
      return {
        column: { type: 'VARCHAR', values: values.map(jsonOrNull) },
        expression: (from) => `${shapedExpression(from, shape)} ${as}`,
      };
  }
}

function shapedExpression(from: string, shape: Shape): string {
  if (shape.is === 'huge') return `CAST(${from} AS HUGEINT)`;
  if (shape.is === 'json') return `CAST(${from} AS JSON)`;
  return `from_json(${from}, '${stringifyJson(structure(shape)).replaceAll("'", "''")}')`;
}

const NAMES = {
  unknown: 'NULL',
  boolean: 'BOOLEAN',
  integer: 'BIGINT',
  huge: 'HUGEINT',
  number: 'DOUBLE',
  string: 'VARCHAR',
  json: 'JSON',
};

/** A shape as the engine wants it: `{"a": ["BIGINT"]}`. */
function structure(shape: Shape): JsonValue {
  if (shape.is === 'list') return [structure(shape.of)];
  if (shape.is === 'struct')
    return Object.fromEntries([...shape.fields].map(([name, inner]) => [name, structure(inner)]));
  if (shape.is === 'typed') return shape.sqlType;
  return NAMES[shape.is === 'numbered' ? 'integer' : shape.is];
}

function wholeNumber(value: JsonValue): bigint | null {
  return value === null ? null : BigInt(value as number | bigint);
}

function jsonOrNull(value: JsonValue): string | null {
  return value === null ? null : stringifyJson(value);
}
