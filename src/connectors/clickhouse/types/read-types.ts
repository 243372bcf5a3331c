/** What the columns of a result are in records: their logical types, and their values. */
import type { RecordField, RecordType, TimeUnit } from '../../../kit/record-schema.ts';
import { ConnectorError } from '../../../lib/errors.ts';
import { isObject, jsonText, type JsonObject, type JsonValue } from '../../../lib/text/json.ts';
import { bareType, parseType, type ClickhouseType } from './parse-type.ts';

export const SYSTEM = 'clickhouse';

type Decode = (value: JsonValue) => JsonValue;

interface Known {
  readonly type: RecordType;
  /** The value itself when absent. Never called for null. */
  readonly decode?: Decode;
}

export interface ResultColumn {
  readonly name: string;
  readonly type: ClickhouseType;
  readonly field: RecordField;
  readonly decode: Decode;
}

/** `isIso`: the server writes times as ISO 8601, in UTC; else as clocks of `zone`. */
export interface TimeWriting {
  readonly isIso: boolean;
  readonly zone: string;
}

export function columnOf(name: string, typeText: string, times: TimeWriting): ResultColumn {
  const type = parseType(typeText);
  const { isNullable } = bareType(type);
  const known = knownType(type, { column: name, times });
  const native = { system: SYSTEM, name: typeText };
  return {
    name,
    type,
    field: { name, type: known.type, nullable: isNullable || known.type.kind === 'json', native },
    decode: decoderOf(known),
  };
}

/** The logical type alone. */
export function recordTypeOf(type: ClickhouseType): RecordType {
  return knownType(type, { column: '', times: { isIso: true, zone: 'UTC' } }).type;
}

function decoderOf({ decode }: Known): Decode {
  return decode === undefined
    ? (value) => value
    : (value) => (value === null ? null : decode(value));
}

interface Place {
  readonly column: string;
  readonly times: TimeWriting;
}

const INTEGER = /^U?Int(8|16|32|64)$/;
const LARGE_INTEGERS: Readonly<Record<string, number>> = {
  Int128: 39,
  UInt128: 39,
  Int256: 77,
  UInt256: 78,
};

function knownType(written: ClickhouseType, place: Place): Known {
  const { type } = bareType(written);
  const { name, args } = type;
  if (INTEGER.test(name)) return { type: { kind: name.toLowerCase() as 'int8' }, decode: integer };
  const digits = LARGE_INTEGERS[name];
  if (digits !== undefined)
    return { type: { kind: 'decimal', precision: digits, scale: 0 }, decode: jsonText };
  switch (name) {
    case 'Bool':
      return { type: { kind: 'bool' } };
    case 'Float32':
    case 'BFloat16':
      return { type: { kind: 'float32' }, decode: float };
    case 'Float64':
      return { type: { kind: 'float64' }, decode: float };
    case 'UUID':
      return { type: { kind: 'uuid' } };
    case 'Date':
    case 'Date32':
      return { type: { kind: 'date' }, decode: day };
    case 'DateTime':
    case 'DateTime32':
      return timeType({ unit: 's', zone: args[0]?.text }, place);
    case 'DateTime64':
      return timeType({ unit: unitOf(Number(args[0]?.text ?? 3)), zone: args[1]?.text }, place);
    case 'Array':
    case 'Tuple':
    case 'Nested':
    case 'Map':
      return nestedType(type, place);
    default:
      if (name.startsWith('Decimal')) return decimalType(type);
      return DOCUMENTS.test(name)
        ? { type: { kind: 'json' } }
        : { type: { kind: 'utf8' }, decode: jsonText };
  }
}

/** What the server writes as JSON, and what has no logical type. */
const DOCUMENTS =
  /^(?:JSON|Object|Variant|Dynamic|Point|Ring|LineString|MultiLineString|Polygon|MultiPolygon|Geometry|QBit)$/;

function decimalType({ name, args }: ClickhouseType): Known {
  const numbers = args.map(({ text }) => Number(text));
  const [precision, scale] = name === 'Decimal' ? numbers : [undefined, numbers[0]];
  return {
    type: {
      kind: 'decimal',
      ...(precision === undefined ? {} : { precision }),
      ...(scale === undefined ? {} : { scale }),
    },
    decode: jsonText,
  };
}

function integer(value: JsonValue): JsonValue {
  if (typeof value !== 'string') return value;
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : BigInt(value);
}

const NOT_FINITE: Readonly<Record<string, string>> = {
  nan: 'NaN',
  '-nan': 'NaN',
  inf: 'Infinity',
  '-inf': '-Infinity',
};

function float(value: JsonValue): JsonValue {
  if (typeof value === 'bigint') return Number(value);
  if (typeof value !== 'string') return value;
  return NOT_FINITE[value] ?? Number(value);
}

/** How old servers write the first day that there is. */
const ZERO = /^0000-00-00/;

function day(value: JsonValue): JsonValue {
  return jsonText(value).replace(ZERO, '1970-01-01');
}

const SECONDS = 3;

function unitOf(digits: number): TimeUnit {
  if (digits === 0) return 's';
  if (digits <= SECONDS) return 'ms';
  return digits <= 2 * SECONDS ? 'us' : 'ns';
}

const UTC = /^'?(?:UTC|Etc\/UTC|GMT|Etc\/GMT|Universal|Etc\/Universal|Zulu|Etc\/Zulu)'?$/;
/** The epoch in a column of `DateTime`, as old servers write it. */
const CLOCK = /^\d{4}-\d{2}-\d{2} \d{2}:\d{2}:\d{2}(?:\.\d+)?$/;

function timeType(
  { unit, zone }: { readonly unit: TimeUnit; readonly zone: string | undefined },
  { column, times }: Place,
): Known {
  const type: RecordType = { kind: 'timestamp', unit, zone: 'UTC' };
  if (times.isIso) return { type };
  const shown = zone ?? times.zone;
  const decode = (value: JsonValue): JsonValue => {
    const text = jsonText(value).replace(ZERO, '1970-01-01');
    if (UTC.test(shown) && CLOCK.test(text)) return `${text.replace(' ', 'T')}Z`;
    throw new ConnectorError(
      'data',
      `this server writes the times of \`${column}\` as clocks of ${shown}, which do not say the moment when a clock is put back`,
      { hint: `select toDateTime(\`${column}\`, 'UTC') in its place` },
    );
  };
  return { type, decode };
}

function nestedType(type: ClickhouseType, place: Place): Known {
  const { name, args, names } = type;
  const parts = args.map((arg) => ({ ...bareType(arg), known: knownType(arg, place) }));
  const decoders = parts.map(({ known }) => decoderOf(known));
  const [first, second] = parts;
  const field = (index: number): RecordField => {
    const part = parts[index];
    return {
      name: names[index] ?? '',
      type: part?.known.type ?? { kind: 'json' },
      nullable: part === undefined || part.isNullable || part.known.type.kind === 'json',
    };
  };
  const decodeStruct = (value: JsonValue): JsonValue => structOf(value, names, decoders);
  switch (name) {
    case 'Array':
      return {
        type: { kind: 'list', item: first?.known.type ?? { kind: 'json' } },
        decode: itemsWith(decoders[0] ?? ((value) => value)),
      };
    case 'Nested':
      return {
        type: { kind: 'list', item: { kind: 'struct', fields: names.map((_, at) => field(at)) } },
        decode: itemsWith(decodeStruct),
      };
    case 'Map': {
      const key = first?.known.type ?? { kind: 'utf8' };
      const value = second?.known.type ?? { kind: 'json' };
      return { type: { kind: 'map', key, value }, decode: mapWith(key, decoders) };
    }
    default:
      if (names.length === args.length && names.length > 0)
        return {
          type: { kind: 'struct', fields: names.map((_, at) => field(at)) },
          decode: decodeStruct,
        };
      return {
        type: { kind: 'json' },
        decode: (value) =>
          Array.isArray(value) ? value.map((item, at) => decoders[at]?.(item) ?? null) : value,
      };
  }
}

function itemsWith(decode: Decode): Decode {
  return (value) => (Array.isArray(value) ? value.map(decode) : value);
}

/** Some servers write a tuple with names as an object, others as a list. */
function structOf(
  value: JsonValue,
  names: readonly string[],
  decoders: readonly Decode[],
): JsonValue {
  const part = (name: string, at: number): JsonValue =>
    (Array.isArray(value) ? value[at] : isObject(value) ? value[name] : undefined) ?? null;
  return Object.fromEntries(
    names.map((name, at) => [name, decoders[at]?.(part(name, at)) ?? null]),
  );
}

function mapWith(key: RecordType, [decodeKey, decodeValue]: readonly Decode[]): Decode {
  return (value) => {
    if (!isObject(value)) return value;
    const entries = Object.entries(value).map(([name, item]): [JsonValue, JsonValue] => [
      decodeKey?.(name) ?? name,
      decodeValue?.(item) ?? null,
    ]);
    if (key.kind === 'utf8') return Object.fromEntries(entries) as JsonObject;
    return entries.map(([name, item]) => ({ key: name, value: item }));
  };
}
