/**
 * How values of the analytical engine become JSON: whole numbers and decimals with every digit,
 * times as ISO 8601, bytes as base64.
 */
import type * as Api from '@duckdb/node-api';
import {
  jsonText,
  parseData,
  setField,
  stringifyJson,
  type JsonObject,
  type JsonValue,
} from '../text/json.ts';
import { keepNegativeZeros } from '../text/number-spelling.ts';
import { JSON_NULL, withSourceText } from '../text/json-literal.ts';
import { lazyLibrary } from '../lazy.ts';

const library = lazyLibrary<typeof Api>('@duckdb/node-api');

export type ReadValue = (value: Api.DuckDBValue) => JsonValue;

/**
 * Reads the values of one type. `exact` keeps what JSON has no form for: not-a-number and the
 * infinities as text, and the text of documents.
 */
export function jsonReader(type: Api.DuckDBType, exact = false): ReadValue {
  const read = presentReader(type, exact);
  return (value) => (value === null || value === undefined ? null : read(value));
}

function presentReader(type: Api.DuckDBType, exact: boolean): ReadValue {
  const { DuckDBTypeId: Id } = library();
  switch (type.typeId) {
    case Id.VARCHAR:
      return type.alias === 'JSON'
        ? (value) => documentOf(value as string, exact)
        : (value) => value as string;
    case Id.FLOAT:
      return (value) => shortest(value as number) ?? (exact ? String(value) : null);
    case Id.DOUBLE:
      return (value) => (Number.isFinite(value) ? (value as number) : exact ? String(value) : null);
    case Id.BLOB:
      return (value) => Buffer.from((value as Api.DuckDBBlobValue).bytes).toString('base64');
    case Id.DATE:
      return dateText;
    case Id.TIMESTAMP:
      return (value) => isoText(String(value));
    case Id.TIMESTAMP_S:
      return (value) => timestamp(value, (value as Api.DuckDBTimestampSecondsValue).seconds);
    case Id.TIMESTAMP_MS:
      return (value) => timestamp(value, (value as Api.DuckDBTimestampMillisecondsValue).millis);
    case Id.TIMESTAMP_NS:
      return (value) => timestamp(value, (value as Api.DuckDBTimestampNanosecondsValue).nanos);
    case Id.TIMESTAMP_TZ:
      return instant;
    case Id.BIGNUM:
      return exact ? String : plain;
    default:
      return nestedReader(type, exact) ?? plain;
  }
}

function nestedReader(type: Api.DuckDBType, exact: boolean): ReadValue | undefined {
  const { DuckDBTypeId: Id } = library();
  switch (type.typeId) {
    case Id.LIST:
    case Id.ARRAY: {
      const item = jsonReader(type.valueType, exact);
      return (value) => keepNegativeZeros((value as Api.DuckDBListValue).items.map(item));
    }
    case Id.STRUCT: {
      const { entryNames, entryTypes } = type;
      const readers = entryTypes.map((entry) => jsonReader(entry, exact));
      return (value) => structOf(entryNames, readers, (value as Api.DuckDBStructValue).entries);
    }
    case Id.MAP: {
      const { keyType, valueType } = type;
      const [key, item] = [jsonReader(keyType, exact), jsonReader(valueType, exact)];
      return (value) => mapOf((value as Api.DuckDBMapValue).entries, key, item);
    }
    case Id.UNION: {
      const { memberTags, memberTypes } = type;
      const readers = new Map(
        memberTags.map((tag, index) => [
          tag,
          jsonReader(memberTypes[index] as Api.DuckDBType, exact),
        ]),
      );
      return (value) => {
        // As in the JSON of the engine: the value alone would not tell which member it is.
        const { tag, value: inner } = value as Api.DuckDBUnionValue;
        return { [tag]: readers.get(tag)?.(inner) ?? null };
      };
    }
    default:
      return undefined;
  }
}

function documentOf(text: string, exact: boolean): JsonValue {
  const value = parseData(text);
  if (exact && value === null) return JSON_NULL;
  return exact && stringifyJson(value) !== text ? withSourceText(value, text) : value;
}

function structOf(
  names: readonly string[],
  readers: readonly ReadValue[],
  entries: Readonly<Record<string, Api.DuckDBValue>>,
): JsonObject {
  const record: JsonObject = {};
  for (const [index, name] of names.entries())
    setField(record, name, readers[index]?.(entries[name] ?? null) ?? null);
  return record;
}

function mapOf(
  entries: readonly Api.DuckDBMapEntry[],
  key: ReadValue,
  item: ReadValue,
): JsonObject {
  const record: JsonObject = {};
  for (const entry of entries) setField(record, jsonText(key(entry.key)), item(entry.value));
  return record;
}

/** Types that need no conversion; a value without a JSON form becomes the engine's text of it. */
function plain(value: Api.DuckDBValue): JsonValue {
  switch (typeof value) {
    case 'bigint':
      return value >= Number.MIN_SAFE_INTEGER && value <= Number.MAX_SAFE_INTEGER
        ? Number(value)
        : value;
    case 'number':
      return Number.isFinite(value) ? value : null;
    case 'boolean':
    case 'string':
      return value;
    default:
      return String(value);
  }
}

const MOST_DAYS = 2 ** 31 - 1;

function dateText(value: Api.DuckDBValue): string {
  const { days } = value as Api.DuckDBDateValue;
  return Math.abs(days) === MOST_DAYS ? (days > 0 ? 'infinity' : '-infinity') : String(value);
}

const MOST_TICKS = 2n ** 63n - 1n;

/** The client names the infinities of microseconds only. */
function timestamp(value: Api.DuckDBValue, ticks: bigint): string {
  if (ticks === MOST_TICKS) return 'infinity';
  return ticks === -MOST_TICKS ? '-infinity' : isoText(String(value));
}

/** The shortest decimal that is this single-precision number. */
function shortest(value: number): JsonValue {
  if (!Number.isFinite(value)) return null;
  for (let digits = 6; digits < 9; digits += 1) {
    const candidate = Number(value.toPrecision(digits));
    if (Object.is(Math.fround(candidate), value)) return candidate;
  }
  return value;
}

function instant(value: Api.DuckDBValue): JsonValue {
  const { DuckDBTimestampValue } = library();
  const { micros } = value as Api.DuckDBTimestampTZValue;
  const text = isoText(new DuckDBTimestampValue(micros).toString());
  return text.includes('T') ? `${text}Z` : text;
}

/** `infinity` and years before Christ stay as they are. */
function isoText(text: string): string {
  return text.replace(/^(\d{4,}-\d\d-\d\d) (\d\d:\d\d:\d\d(?:\.\d+)?)$/, '$1T$2');
}
