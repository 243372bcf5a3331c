/** Decodes the text form of column values (dates ISO, zone UTC, bytes hex) to JSON values. */
import { ConnectorError } from '../../../lib/errors.ts';
import { exactNumber } from '../../../lib/text/exact-number.ts';
import type { JsonValue } from '../../../lib/text/json.ts';

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

/**
 * Types that are not listed (numeric, uuid, date, enums, arrays, …) keep the text of the server.
 */
export function decoderOf(oid: number, column: string, bigNumbers: BigNumbers): Decoder {
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
    case OID.jsonb:
      return jsonDecoder(column, bigNumbers);
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

/** Infinity and not-a-number have no JSON form. */
function float(text: string): JsonValue {
  const value = Number(text);
  return Number.isFinite(value) ? value : null;
}

/** Only texts that match can hold a number that a double cannot hold exactly. */
const MAY_BE_BIG = /\d[\d.]{15}|[eE][+-]?\d{2}/;

function jsonDecoder(column: string, bigNumbers: BigNumbers): Decoder {
  const reviver = (_key: string, value: unknown, context?: { source?: string }): unknown => {
    if (typeof value !== 'number' || context?.source === undefined) return value;
    const exact = exactNumber(value, context.source);
    if (exact !== undefined) return exact;
    if (bigNumbers === 'string') return context.source;
    throw new ConnectorError(
      'data',
      `column \`${column}\` holds the number ${context.source}, which cannot be held exactly`,
      {
        hint: 'set `json_big_numbers: string` to read such numbers as text, or cast them in the query',
      },
    );
  };
  return (text) =>
    MAY_BE_BIG.test(text)
      ? (JSON.parse(text, reviver) as JsonValue)
      : (JSON.parse(text) as JsonValue);
}
