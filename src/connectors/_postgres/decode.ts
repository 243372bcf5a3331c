/** Decodes the text form of column values (dates ISO, zone UTC, bytes hex) to JSON values. */
import type { JsonValue } from '../../lib/text/json.ts';
import {
  hasOuterZeros,
  integer,
  isNotCompact,
  jsonDecoder,
  type BigNumbers,
} from '../_sql/value-decoders.ts';
import { decodeArray, type ArrayType } from './arrays.ts';

export type Decoder = (text: string) => JsonValue;
export type { BigNumbers };

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

/** Types in which one value can have several texts. */
export const LOOSE: readonly number[] = [OID.float4, OID.float8, OID.json, OID.jsonb, OID.numeric];

/** What decides how the values of a column are read. */
export interface DecodedColumn {
  readonly name: string;
  readonly oid: number;
  /** Present where values are arrays. */
  readonly array?: ArrayType | undefined;
}

export type CopyColumn = DecodedColumn;

/** Types that are not listed (numeric, uuid, date, enums, …) keep the text of the server. */
export function decoderOf(
  { oid, name: column, array }: DecodedColumn,
  bigNumbers: BigNumbers,
): Decoder {
  if (array !== undefined) {
    const item = decoderOf({ name: column, oid: array.item }, bigNumbers);
    const isOfDocuments = array.item === OID.json || array.item === OID.jsonb;
    // A list in a list would be a document that is a list.
    return (text) =>
      isOfDocuments && text.startsWith('{{') ? text : decodeArray(text, array.delimiter, item);
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

/** Infinity and not-a-number are texts, which the server spells as JavaScript does. */
function float(text: string): JsonValue {
  const value = Number(text);
  return Number.isFinite(value) ? value : text;
}
