/** Decodes the text form of column values (dates ISO, zone UTC, bytes hex) to JSON values. */
import { ConnectorError } from '../../../lib/errors.ts';
import { exactNumber } from '../../../lib/text/exact-number.ts';
import { withSourceText } from '../../../lib/text/json-literal.ts';
import { stringifyJson, type JsonValue } from '../../../lib/text/json.ts';
import { decodeArray, type ArrayType } from './arrays.ts';

export type Decoder = (text: string) => JsonValue;
export type BigNumbers = 'fail' | 'string';

export const OID = {
  bool: 16,
  bytea: 17,
  int8: 20,
  int2: 21,
  int4: 23,
  oid: 26,
  json: 114,
  float4: 700,
  float8: 701,
  timestamp: 1114,
  timestamptz: 1184,
  numeric: 1700,
  jsonb: 3802,
} as const;

/** What decides how the values of a column are read. */
export interface DecodedColumn {
  readonly name: string;
  readonly oid: number;
  /** Present where values are arrays. */
  readonly array?: ArrayType | undefined;
}

/** Types that are not listed (numeric, uuid, date, enums, …) keep the text of the server. */
export function decoderOf(
  { oid, name: column, array }: DecodedColumn,
  bigNumbers: BigNumbers,
): Decoder {
  if (array !== undefined) {
    const item = decoderOf({ name: column, oid: array.item }, bigNumbers);
    return (text) => decodeArray(text, array.delimiter, item);
  }
  switch (oid) {
    case OID.bool:
      return (text) => text === 't';
    case OID.int2:
    case OID.int4:
    case OID.oid:
      return Number;
    case OID.int8:
      return integer;
    case OID.float4:
    case OID.float8:
      return float;
    case OID.bytea:
      return (text) => Buffer.from(text.slice(2), 'hex').toString('base64');
    case OID.timestamp:
      return (text) => isoDateTime(text) ?? text;
    case OID.timestamptz:
      return (text) => (text.endsWith('+00') ? zulu(isoDateTime(text)) : undefined) ?? text;
    case OID.json:
      return jsonDecoder({ column, bigNumbers, isRespelled: isNotCompact });
    case OID.jsonb:
      return jsonDecoder({ column, bigNumbers, isRespelled: hasOuterZeros });
    default:
      return (text) => text;
  }
}

/**
 * `2024-05-06 07:08:09` with a `T`; `undefined` for values that RFC 3339 cannot express (infinity,
 * years before 1 or after 9999).
 */
function isoDateTime(text: string): string | undefined {
  return text[10] === ' ' && text[4] === '-' && !text.endsWith('BC')
    ? `${text.slice(0, 10)}T${text.slice(11)}`
    : undefined;
}

/** The zone is UTC for every session, so the offset is always `+00`. */
function zulu(text: string | undefined): string | undefined {
  return text === undefined ? undefined : `${text.slice(0, -3)}Z`;
}

function integer(text: string): JsonValue {
  const value = Number(text);
  return Number.isSafeInteger(value) ? value : BigInt(text);
}

/** Infinity and not-a-number are texts, which the server spells as JavaScript does. */
function float(text: string): JsonValue {
  const value = Number(text);
  return Number.isFinite(value) ? value : text;
}

/** Only texts that match can hold a number that a double cannot hold exactly. */
const MAY_BE_BIG = /\d[\d.]{15}|[eE][+-]?\d{2}/;

interface JsonDecoding {
  readonly column: string;
  readonly bigNumbers: BigNumbers;
  /** Whether the server would store the JSON of the value as another value than its text. */
  readonly isRespelled: (value: JsonValue, text: string) => boolean;
}

function jsonDecoder({ column, bigNumbers, isRespelled }: JsonDecoding): Decoder {
  let isReplaced = false;
  const reviver = (_key: string, value: unknown, context?: { source?: string }): unknown => {
    if (typeof value !== 'number' || context?.source === undefined) return value;
    const exact = exactNumber(value, context.source);
    if (exact !== undefined) return exact;
    isReplaced = true;
    if (bigNumbers === 'string') return context.source;
    throw new ConnectorError(
      'data',
      `column \`${column}\` holds the number ${context.source}, which cannot be held exactly`,
      {
        hint: 'set `json_big_numbers: string` to read such numbers as text, or cast them in the query',
      },
    );
  };
  return (text) => {
    isReplaced = false;
    const value = MAY_BE_BIG.test(text)
      ? (JSON.parse(text, reviver) as JsonValue)
      : (JSON.parse(text) as JsonValue);
    if (value === null) return withSourceText(value, text);
    return !isReplaced && isRespelled(value, text) ? withSourceText(value, text) : value;
  };
}

/** `json` keeps its text: spaces, equal keys, escapes. */
function isNotCompact(value: JsonValue, text: string): boolean {
  return stringifyJson(value) !== text;
}

/** `jsonb` keeps the decimals of a number: `1.50` is not printed as `1.5`. */
function hasOuterZeros(_value: JsonValue, text: string): boolean {
  return OUTER_ZERO.test(text);
}

const OUTER_ZERO = /\.\d*0(?!\d)/;
