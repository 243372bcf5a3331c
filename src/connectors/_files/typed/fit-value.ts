/** Values in the form in which the columns of a file store them. Nothing is rounded or cut. */
import { arrayFault } from '../../../kit/array-shapes.ts';
import {
  documentText,
  exactField,
  isLiteral,
  literalValue,
} from '../../../lib/text/json-literal.ts';
import { hasSpellings } from '../../../lib/text/number-spelling.ts';
import {
  isObject,
  jsonText,
  parseData,
  stringifyJson,
  type JsonObject,
  type JsonValue,
} from '../../../lib/text/json.ts';
import { daysOf, nanosOfTime, nanosOfTimestamp } from '../../../lib/time/iso-text.ts';
import { ConnectorError } from '../../../lib/errors.ts';
import { isExactDouble } from '../../../kit/column-type.ts';
import type { DecimalType, RecordType, TimeUnit } from '../../../kit/record-schema.ts';
import { hasTypeForm, NOT_FINITE } from '../../../kit/typed-values.ts';
import { decimalText, unscaledOf } from '../parquet/exact-values.ts';
import { storedDuration } from './duration.ts';
import { kindOf, kindText, mismatch, type ColumnKind } from './column-kinds.ts';

export interface Place {
  /** Of the field, for messages. */
  readonly path: string;
  /** Called for each field that no column can hold. */
  readonly dropped: (path: string) => void;
}

const INT64_MAX = 2n ** 63n - 1n;
const INT64_MIN = -(2n ** 63n);
const INT32_MAX = 2 ** 31 - 1;

/**
 * The stored form of a value: numbers, bigints for 64 bits, days and microseconds or nanoseconds
 * since 1970, plain digits for decimals, base64 for bytes, `1 months 2 days 2500 milliseconds` for
 * durations, JSON text for documents, `{key, value}` for the entries of maps. `undefined` is null.
 * Throws when the value does not fit.
 */
export function fit(value: JsonValue | undefined, kind: ColumnKind, place: Place): unknown {
  if (value === null || value === undefined) return undefined;
  const isDocument = kind.is === 'json' || (kind.is === 'string' && kind.documents === true);
  if (isDocument) return documentText(value);
  if (kind.is === 'string' && kind.numbers === true) return fitText(value, kind, place);
  if (isLiteral(value)) return fit(literalValue(value), kind, place);
  switch (kind.is) {
    case 'boolean':
      return typeof value === 'boolean' ? value : misfit(value, kind, place);
    case 'integer':
      return fitInteger(value, kind, place);
    case 'number':
      if (typeof value !== 'number' && typeof value !== 'bigint') return misfit(value, kind, place);
      if (isExactDouble(value)) return Number(value);
      throw cannotHold(value, kind, place);
    case 'typed': {
      const stored = storedForm(value, kind.type);
      if (stored === undefined) throw cannotHold(value, kind, place);
      return stored;
    }
    case 'list': {
      if (!Array.isArray(value)) return misfit(value, kind, place);
      const inner = below(place, '[]');
      if (!hasSpellings(value)) return value.map((item) => fit(item, kind.of, inner));
      return value.map((_, index) => fit(exactField(value, String(index)), kind.of, inner));
    }
    case 'struct':
      return isObject(value) ? fitStruct(value, kind.fields, place) : misfit(value, kind, place);
    case 'map':
      return fitMap(value, kind, place);
    default:
      return typeof value === 'string' ? value : misfit(value, { is: 'string' }, place);
  }
}

function fitText(value: JsonValue, kind: ColumnKind, place: Place): string {
  const isNumber = typeof value === 'number' || typeof value === 'bigint' || isLiteral(value);
  return typeof value === 'string' || isNumber ? jsonText(value) : misfit(value, kind, place);
}

function below({ path, dropped }: Place, step: string): Place {
  return { path: path + step, dropped };
}

function fitInteger(value: JsonValue, kind: ColumnKind, place: Place): bigint {
  if (
    typeof value === 'bigint'
      ? value >= INT64_MIN && value <= INT64_MAX
      : Number.isSafeInteger(value)
  )
    return BigInt(value as number);
  return misfit(value, kind, place);
}

function fitStruct(
  value: JsonObject,
  fields: ReadonlyMap<string, ColumnKind>,
  place: Place,
): object {
  const out: Record<string, unknown> = {};
  for (const [name, kind] of fields)
    out[name] = fit(exactField(value, name), kind, below(place, `.${name}`));
  for (const name of Object.keys(value))
    if (!fields.has(name)) place.dropped(`${place.path}.${name}`);
  return out;
}

function fitMap(
  value: JsonValue,
  kind: Extract<ColumnKind, { is: 'map' }>,
  place: Place,
): { key: unknown; value: unknown }[] {
  const entries = Array.isArray(value)
    ? value
    : isObject(value)
      ? Object.keys(value).map((name) => ({
          key: keyOfName(name, kind.key),
          value: exactField(value, name),
        }))
      : misfit(value, kind, place);
  const keys = new Set<unknown>();
  return entries.map((entry) => {
    if (!isObject(entry)) return misfit(value, kind, place);
    const key = fit(entry['key'], kind.key, below(place, '.key'));
    if (keys.has(key)) throw repeatedKey(entry['key'] ?? null, place);
    keys.add(key);
    return { key, value: fit(exactField(entry, 'value'), kind.value, below(place, '.value')) };
  });
}

/** The value of a key that is the name of a field; a name that spells none stays as it is. */
function keyOfName(name: string, kind: ColumnKind): JsonValue {
  if (!isSpelledAsJson(kind)) return name;
  try {
    return parseData(name);
  } catch {
    return name;
  }
}

function isSpelledAsJson(kind: ColumnKind): boolean {
  if (kind.is === 'typed') return /^(?:u?int|float)\d+$/.test(kind.type.kind);
  return ['boolean', 'integer', 'number', 'list', 'struct', 'map'].includes(kind.is);
}

export function repeatedKey(key: JsonValue, { path }: Place): ConnectorError {
  return new ConnectorError(
    'data',
    `the map ${JSON.stringify(path)} has the key ${stringifyJson(key)} twice, which a file of this format cannot hold`,
    { hint: 'make its keys differ, or keep the field as text (`json_encode`)' },
  );
}

function storedForm(value: JsonValue, type: RecordType): unknown {
  switch (type.kind) {
    case 'date':
      return typeof value === 'string' ? daysInRange(daysOf(value)) : undefined;
    case 'time':
      return typeof value === 'string' ? inUnit(nanosOfTime(value), 'us') : undefined;
    case 'timestamp':
      return typeof value === 'string' ? inUnit(nanosOfTimestamp(value), type.unit) : undefined;
    case 'decimal':
      return plainDecimal(value, type);
    case 'float32':
    case 'float64':
      return floatOf(value);
    case 'uint64':
      return hasTypeForm(value, type) ? BigInt(value as number) : undefined;
    case 'interval':
      return typeof value === 'string' ? storedDuration(value) : undefined;
    case 'binary':
    case 'uuid':
      return hasTypeForm(value, type) ? value : undefined;
    default:
      return hasTypeForm(value, type) ? Number(value) : undefined;
  }
}

function floatOf(value: JsonValue): number | undefined {
  if (typeof value === 'number' || NOT_FINITE.has(value)) return Number(value);
  // Whole numbers of many digits are bigints when they are read back from JSON. A double holds only
  // some of them exactly; of others its shortest text stands for it.
  if (typeof value !== 'bigint') return undefined;
  const near = Number(value);
  return BigInt(near) === value || String(near) === String(value) ? near : undefined;
}

function daysInRange(days: number | undefined): number | undefined {
  return days !== undefined && days <= INT32_MAX && days >= -INT32_MAX - 1 ? days : undefined;
}

const NANOS: Readonly<Record<TimeUnit, bigint>> = {
  // Files have no unit of whole seconds.
  s: 1_000_000n,
  ms: 1_000_000n,
  us: 1000n,
  ns: 1n,
};

/** `undefined` where the unit would cut digits, or 64 bits are not enough. */
function inUnit(nanos: bigint | undefined, unit: TimeUnit): bigint | undefined {
  if (nanos === undefined || nanos % NANOS[unit] !== 0n) return undefined;
  const count = nanos / NANOS[unit];
  return count <= INT64_MAX && count >= INT64_MIN ? count : undefined;
}

const PLAIN = /^(-?)(\d+)(?:\.(\d+))?$/;

/** Its digits without an exponent, when the column can hold all of them. */
function plainDecimal(
  value: JsonValue,
  { precision = Infinity, scale = 0 }: DecimalType,
): string | undefined {
  const text = jsonText(value);
  const [match, , whole = '', fraction = ''] = PLAIN.exec(text) ?? [];
  if (match !== undefined && fraction.length <= scale && whole.length + scale <= precision)
    return text;
  const unscaled = unscaledOf(text, scale);
  if (unscaled === undefined) return undefined;
  const digits = unscaled < 0n ? -unscaled : unscaled;
  return digits.toString().length <= precision ? decimalText(unscaled, scale) : undefined;
}

function misfit(value: JsonValue, kind: ColumnKind, { path }: Place): never {
  const fault = kind.is === 'list' || Array.isArray(value) ? arrayFault(value, path) : undefined;
  if (fault !== undefined) throw fault;
  const found = kindOf(value, path).is;
  throw mismatch(
    path,
    kindText(kind),
    found === kind.is ? `${found} too large for 64 bits` : found,
  );
}

function cannotHold(value: JsonValue, kind: ColumnKind, { path }: Place): ConnectorError {
  const fault = Array.isArray(value) ? arrayFault(value, path) : undefined;
  if (fault !== undefined) return fault;
  return new ConnectorError(
    'data',
    `the field ${JSON.stringify(path)} is ${kindText(kind)}, which cannot hold ${shown(value)}`,
    { hint: 'give the field a wider type with a `cast` transform: `string` keeps any value' },
  );
}

const SHOWN_CHARS = 60;

function shown(value: JsonValue): string {
  const text = jsonText(value);
  return text.length > SHOWN_CHARS ? `${text.slice(0, SHOWN_CHARS)}…` : text;
}
