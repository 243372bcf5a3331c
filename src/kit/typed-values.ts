/** Values against their logical type: what `record-schema.ts` promises, as code. */
import { isObject, type JsonObject, type JsonValue } from '../lib/text/json.ts';
import type { RecordSchema, RecordType } from './record-schema.ts';
import type { ColumnHolds } from './source.ts';
import type { ColumnType } from './sink.ts';

const BITS: Readonly<Record<string, number>> = {
  int8: 8,
  int16: 16,
  int32: 32,
  int64: 64,
  uint8: 8,
  uint16: 16,
  uint32: 32,
  uint64: 64,
};

/** The texts of float and decimal values that are no numbers. */
export const NOT_FINITE: ReadonlySet<JsonValue> = new Set(['NaN', 'Infinity', '-Infinity']);

const DECIMAL = /^-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?$/;
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;
const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const TIME = /^\d{2}:\d{2}:\d{2}(?:\.\d+)?$/;
const WALL_CLOCK = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d+)?$/;
const INSTANT = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d+)?(?:Z|[+-]\d{2}:\d{2})$/;
const DATE = /^\d{4}-\d{2}-\d{2}$/;
/** How databases write what ISO 8601 cannot express. */
const BEYOND_ISO = /^(?:-?infinity|.* BC|[+-]?\d{5,}-.*|.* \(BC\))$/;
/** How PostgreSQL writes an array that no list can say. */
const ARRAY_TEXT = /^(?:\[[-\d:[\]]+\]=\{|\{\{)/;

export function isArrayText(text: string): boolean {
  return ARRAY_TEXT.test(text);
}

export function isBase64(text: string): boolean {
  return BASE64.test(text);
}

/** Whether a value has the form of its type. Null has the form of each. */
export function hasTypeForm(value: JsonValue, type: RecordType): boolean {
  if (value === null) return true;
  switch (type.kind) {
    case 'bool':
      return typeof value === 'boolean';
    case 'float32':
    case 'float64':
      return typeof value === 'number' || NOT_FINITE.has(value);
    case 'json':
      return true;
    case 'list':
      return isListOf(value, type.item);
    case 'struct':
      return (
        isObject(value) && fieldFault(value, { fields: type.fields, others: true }) === undefined
      );
    case 'map':
      return isObject(value)
        ? Object.values(value).every((item) => hasTypeForm(item, type.value))
        : Array.isArray(value);
    default:
      return typeof value === 'string'
        ? hasTextForm(value, type)
        : isWhole(value, BITS[type.kind], type.kind);
  }
}

/** Arrays of databases may have several dimensions, which their type does not tell. */
function isListOf(value: JsonValue, item: RecordType): boolean {
  if (!Array.isArray(value)) return typeof value === 'string' && isArrayText(value);
  return value.every(
    (one) => hasTypeForm(one, item) || (Array.isArray(one) && isListOf(one, item)),
  );
}

function hasTextForm(text: string, type: RecordType): boolean {
  switch (type.kind) {
    case 'utf8':
      return true;
    case 'decimal':
      return DECIMAL.test(text) || NOT_FINITE.has(text);
    case 'binary':
      return isBase64(text);
    case 'uuid':
      return UUID.test(text);
    case 'time':
      return TIME.test(text);
    case 'date':
      return DATE.test(text) || BEYOND_ISO.test(text);
    case 'timestamp':
      return (type.zone === undefined ? WALL_CLOCK : INSTANT).test(text) || BEYOND_ISO.test(text);
    case 'interval':
      return /^-?P/.test(text) || BEYOND_ISO.test(text);
    default:
      return false;
  }
}

function isWhole(value: JsonValue, bits: number | undefined, kind: string): boolean {
  if (bits === undefined) return false;
  if (typeof value !== 'bigint' && !Number.isSafeInteger(value)) return false;
  const whole = BigInt(value as number | bigint);
  const size = BigInt(kind.startsWith('u') ? bits : bits - 1);
  return whole < 2n ** size && whole >= (kind.startsWith('u') ? 0n : -(2n ** size));
}

/** The first field of a record that is not as the schema says, in words; `undefined` for none. */
export function fieldFault(
  record: JsonObject,
  { fields, others }: RecordSchema,
): string | undefined {
  for (const { name, type, nullable } of fields) {
    if (!Object.hasOwn(record, name)) {
      if (others !== true) return `\`${name}\` is missing`;
      continue;
    }
    const value = record[name] as JsonValue;
    if (value === null && !nullable) return `\`${name}\` is null`;
    if (!hasTypeForm(value, type)) return `\`${name}\` does not have the form of ${type.kind}`;
  }
  if (others === true) return undefined;
  const names = new Set(fields.map(({ name }) => name));
  const extra = Object.keys(record).find((name) => !names.has(name));
  return extra === undefined ? undefined : `\`${extra}\` is not in the schema`;
}

/** The neutral column type that holds values of a logical type. */
export function columnTypeFor({ kind }: RecordType): ColumnType {
  if (kind === 'bool') return 'boolean';
  if (kind in BITS) return kind === 'uint64' ? 'string' : 'integer';
  if (kind === 'float32' || kind === 'float64') return 'number';
  if (kind === 'list') return 'array';
  return kind === 'json' || kind === 'struct' || kind === 'map' ? 'object' : 'string';
}

/** How values of a logical type are compared; absent where they are used as they are. */
export function holdsFor({ kind }: RecordType): ColumnHolds | undefined {
  if (kind in BITS || kind === 'float32' || kind === 'float64' || kind === 'decimal')
    return 'numbers';
  switch (kind) {
    case 'bool':
      return 'booleans';
    case 'uuid':
      return 'uuids';
    case 'utf8':
      return 'texts';
    case 'json':
      return 'documents';
    default:
      return undefined;
  }
}
