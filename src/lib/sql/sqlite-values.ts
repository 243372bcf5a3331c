import type { SQLInputValue } from 'node:sqlite';
import { exactNumber } from '../text/exact-number.ts';
import { exactField, isContainer, isLiteral, literalValue } from '../text/json-literal.ts';
import {
  isObject,
  jsonEqual,
  parseData,
  stringifyJson,
  type JsonObject,
  type JsonValue,
} from '../text/json.ts';

const INT64_MAX = 2n ** 63n - 1n;
const INT64_MIN = -(2n ** 63n);

/**
 * A JSON value as SQLite stores it: whole numbers as INTEGER, booleans as 0 or 1, nested values as
 * JSON text.
 */
export function toSqlite(value: JsonValue): SQLInputValue {
  switch (typeof value) {
    case 'number':
      // The driver would store a plain number as REAL.
      return Number.isSafeInteger(value) && !Object.is(value, -0) ? BigInt(value) : value;
    case 'bigint':
      return value <= INT64_MAX && value >= INT64_MIN ? value : value.toString();
    case 'boolean':
      return value ? 1n : 0n;
    case 'object':
      return value === null ? null : stringifyJson(value);
    default:
      return value;
  }
}

/**
 * The row that a record was read from. Text that is JSON, bytes and some numbers have another form
 * in a record; a SQLite file stores them again as they were. Copies of the record (`{...record}`)
 * keep it, and nothing else sees it.
 */
export const STORED_ROW = Symbol('the row in SQLite');

export interface StoredRow {
  /** One object for all rows of a query. */
  readonly columns: StoredColumns;
  readonly values: readonly unknown[];
}

export interface StoredColumns {
  readonly places: ReadonlyMap<string, number>;
  /** The declared types; null for an expression. */
  readonly declared: readonly (string | null)[];
}

export function storedRowOf(record: object): StoredRow | undefined {
  return (record as { readonly [STORED_ROW]?: StoredRow })[STORED_ROW];
}

export function keepStoredRow(record: object, row: StoredRow): void {
  areThereAny = true;
  Object.assign(record, { [STORED_ROW]: row });
}

/** Most programs read no SQLite file, and then nothing has to be looked for. */
let areThereAny = false;

/** For a value that is copied into another record, or to another field of its own. */
// A holder and a key for each side, in loops over all fields of a record.
// oxlint-disable-next-line max-params
export function keepStoredValue(from: object, key: string, to: object, toKey: string): void {
  if (!areThereAny) return;
  const row = storedRowOf(from);
  const place = row?.columns.places.get(key);
  if (row === undefined || place === undefined) return;
  const other = storedRowOf(to);
  // A record knows one row. Values of a second one are written as records show them.
  if (other !== undefined && other.values !== row.values) return;
  const columns = withPlace(other?.columns ?? noPlaces(row.columns), toKey, place);
  keepStoredRow(to, { columns, values: row.values });
}

/** The columns of one query under other names: made once for all of its records. */
const NO_PLACES = new WeakMap<StoredColumns['declared'], StoredColumns>();
const NEXT = new WeakMap<StoredColumns, Map<string, Map<number, StoredColumns>>>();

function noPlaces({ declared }: StoredColumns): StoredColumns {
  return getOrMake(NO_PLACES, declared, () => ({ places: new Map(), declared }));
}

function withPlace(columns: StoredColumns, name: string, place: number): StoredColumns {
  if (columns.places.get(name) === place) return columns;
  const byName = getOrMake(NEXT, columns, () => new Map<string, Map<number, StoredColumns>>());
  const byPlace = getOrMake(byName, name, () => new Map<number, StoredColumns>());
  return getOrMake(byPlace, place, () => ({
    places: new Map([...columns.places, [name, place]]),
    declared: columns.declared,
  }));
}

interface Keyed<K, V> {
  get(key: K): V | undefined;
  set(key: K, value: V): unknown;
}

function getOrMake<K, V>(map: Keyed<K, V>, key: K, make: () => V): V {
  const known = map.get(key);
  if (known !== undefined) return known;
  const made = make();
  map.set(key, made);
  return made;
}

/** How a SQLite file stores the field; `undefined` when the record is from elsewhere, or changed. */
export function storedValue(record: JsonObject, field: string): unknown {
  const row = storedRowOf(record);
  const place = row?.columns.places.get(field);
  if (row === undefined || place === undefined) return undefined;
  const stored = row.values[place];
  const read = fromSqlite(stored, row.columns.declared[place] ?? null);
  return jsonEqual(read, record[field] ?? null) ? stored : undefined;
}

/**
 * The record with its texts as the file has them, also those that JSON takes for numbers, booleans
 * or null: what names a row somewhere else has to be the same there. Documents stay documents.
 */
export function withStoredTexts(record: JsonValue): JsonValue {
  const row = areThereAny && isObject(record) ? storedRowOf(record) : undefined;
  if (row === undefined || !isObject(record)) return record;
  const texts = [...row.columns.places.keys()].flatMap((name) => {
    const stored = isContainer(record[name]) ? undefined : storedValue(record, name);
    return typeof stored === 'string' && stored !== record[name] ? [[name, stored] as const] : [];
  });
  return texts.length === 0 ? record : { ...record, ...Object.fromEntries(texts) };
}

/** The value of a field for a SQLite file: as it was read, unless it was changed since. */
export function sqliteFieldValue(record: JsonObject, field: string): SQLInputValue {
  const value = record[field] ?? null;
  const bound = toSqlite(ownValue(record, field));
  const row = storedRowOf(record);
  const place = row?.columns.places.get(field);
  if (row === undefined || place === undefined) return bound;
  const stored = row.values[place] as SQLInputValue;
  if (stored === bound) return bound;
  return jsonEqual(fromSqlite(stored, row.columns.declared[place] ?? null), value) ? stored : bound;
}

/** A stored value as SQLite would read it in a statement, so that its storage class is kept. */
export function storedLiteral(stored: unknown): string {
  switch (typeof stored) {
    case 'bigint':
      return String(stored);
    case 'number':
      return realLiteral(stored);
    case 'string':
      return `'${stored.replaceAll("'", "''")}'`;
    default:
      return stored instanceof Uint8Array ? `X'${Buffer.from(stored).toString('hex')}'` : 'NULL';
  }
}

/** As SQLite quotes the infinities itself. */
function realLiteral(real: number): string {
  if (!Number.isFinite(real)) return real < 0 ? '-9e999' : '9e999';
  if (Object.is(real, -0)) return '-0.0';
  const text = String(real);
  return /^-?\d+$/.test(text) ? `${text}.0` : text;
}

/** Undoes `storedLiteral`; `undefined` for any other text. */
export function fromStoredLiteral(literal: string): unknown {
  if (literal === 'NULL') return null;
  if (/^-?\d+$/.test(literal)) return BigInt(literal);
  if (/^'.*'$/s.test(literal)) return literal.slice(1, -1).replaceAll("''", "'");
  if (/^X'(?:[0-9a-f]{2})*'$/i.test(literal))
    return new Uint8Array(Buffer.from(literal.slice(2, -1), 'hex'));
  return /^-?\d+(?:\.\d+)?(?:e[+-]?\d+)?$/.test(literal) ? Number(literal) : undefined;
}

/** A number of more digits than a double holds is bound as text. */
function ownValue(record: JsonObject, field: string): JsonValue {
  const value = exactField(record, field);
  return isLiteral(record[field]) ? value : literalValue(value);
}

/** Reads a stored value; `declared` is the column's declared type. */
export function fromSqlite(stored: unknown, declared: string | null): JsonValue {
  switch (typeof stored) {
    case 'bigint':
      if (declared !== null && /^bool/i.test(declared)) return stored !== 0n;
      return Number.isSafeInteger(Number(stored)) ? Number(stored) : stored;
    case 'number':
      return Number.isFinite(stored) ? stored : null;
    case 'string':
      return fromText(stored);
    default:
      return stored instanceof Uint8Array ? Buffer.from(stored).toString('base64') : null;
  }
}

/**
 * Text that is JSON becomes the value it encodes, unless that is a number that JavaScript would
 * round; anything else stays text.
 */
function fromText(text: string): JsonValue {
  if (!/^[\s]*[[{"\-0-9tfn]/.test(text)) return text;
  try {
    const value = parseData(text);
    return typeof value === 'number' && exactNumber(value, text.trim()) === undefined
      ? text
      : value;
  } catch {
    return text;
  }
}
