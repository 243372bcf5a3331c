/** Decoders of the text of values that several databases write alike. */
import { ConnectorError } from '../../lib/errors.ts';
import { exactNumber } from '../../lib/text/exact-number.ts';
import { withSourceText } from '../../lib/text/json-literal.ts';
import {
  parseData,
  parseWith,
  stringifyJson,
  type JsonValue,
  type Reviver,
} from '../../lib/text/json.ts';
import { noteSpelling } from '../../lib/text/number-spelling.ts';

export type BigNumbers = 'fail' | 'string';

export function integer(text: string): JsonValue {
  const value = Number(text);
  return Number.isSafeInteger(value) ? value : BigInt(text);
}

const NOT_FINITE: Readonly<Record<string, string>> = {
  nan: 'NaN',
  inf: 'Infinity',
  '-inf': '-Infinity',
  infinity: 'Infinity',
  '-infinity': '-Infinity',
};

export function float(text: string): JsonValue {
  return NOT_FINITE[text.toLowerCase()] ?? Number(text);
}

/** Only texts that match can hold a number that a double cannot hold exactly. */
const MAY_BE_BIG = /\d[\d.]{15}|[eE][+-]?\d{2}/;

export interface JsonDecoding {
  readonly column: string;
  readonly bigNumbers: BigNumbers;
  /** Whether the server would store the JSON of the value as another value than its text. */
  readonly isRespelled: (value: JsonValue, text: string) => boolean;
}

export function jsonDecoder({
  column,
  bigNumbers,
  isRespelled,
}: JsonDecoding): (text: string) => JsonValue {
  let isReplaced = false;
  const reviver: Reviver = function (key, value, context) {
    if (typeof value !== 'number' || context?.source === undefined) return value;
    const exact = exactNumber(value, context.source);
    if (typeof exact === 'number' && String(exact) !== context.source)
      noteSpelling(this, key, context.source);
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
    const value = MAY_BE_BIG.test(text) ? parseWith(text, reviver) : parseData(text);
    if (value === null) return withSourceText(value, text);
    return !isReplaced && isRespelled(value, text) ? withSourceText(value, text) : value;
  };
}

/** For a type that keeps its text: spaces, equal keys, escapes. */
export function isNotCompact(value: JsonValue, text: string): boolean {
  return stringifyJson(value) !== text;
}

/** For one that keeps the decimals of a number: `1.50` is not printed as `1.5`. */
export function hasOuterZeros(_value: JsonValue, text: string): boolean {
  return OUTER_ZERO.test(text);
}

const OUTER_ZERO = /\.\d*0(?!\d)/;
