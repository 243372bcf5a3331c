/** Which values a column of a narrow type does not hold exactly. */
import { exactNumber } from '../../lib/text/exact-number.ts';
import { isLiteral } from '../../lib/text/json-literal.ts';
import { jsonText, type JsonValue } from '../../lib/text/json.ts';

/** What a narrow column does to values. */
export interface Rounding {
  /** For a number or a text. Other texts, which the database refuses, are not rounded. */
  readonly rounds: (text: string) => boolean;
  /** Whether a value that is rounded ends the run where the config does not say. */
  readonly refuses?: (text: string) => boolean;
  /** Doubles are never rounded, only texts and large integers. */
  readonly holdsDoubles?: true;
}

/** The same for cells, of which most are cleared by their bytes. */
export interface CellRounding extends Rounding {
  /** A text of fewer letters is never changed. */
  readonly from: number;
  /** A quick look at the bytes of a text. */
  readonly mayRound?: (bytes: Uint8Array, start: number, end: number) => boolean;
}

export type OnRounding = 'warn' | 'error';

export function changes(value: JsonValue, rounding: Rounding): boolean {
  switch (typeof value) {
    case 'string':
      return rounding.rounds(value);
    case 'number':
      return rounding.holdsDoubles !== true && rounding.rounds(String(value));
    case 'bigint':
      return rounding.rounds(String(value));
    default:
      if (Array.isArray(value)) return value.some((item) => changes(item, rounding));
      return isLiteral(value) && rounding.rounds(jsonText(value));
  }
}

const NUMBER = /^\s*[+-]?(?:(\d+)\.?(\d*)|\.(\d+))(?:[eE]([+-]?\d+))?\s*$/;

const POINT = 46;
const LETTERS = 64;

/** Whether more digits follow the point of a number, or it has an exponent or an escape. */
// Called for each cell: an object for the arguments would cost time.
// oxlint-disable-next-line max-params
export function hasMoreDigits(
  bytes: Uint8Array,
  start: number,
  end: number,
  places: number,
): boolean {
  let point = end;
  for (let at = start; at < end; at += 1) {
    const byte = bytes[at] as number;
    if (byte > LETTERS) return true;
    if (byte === POINT) point = at;
  }
  return end - point - 1 > places;
}

/** Whether a number is so long, or has an exponent. */
// oxlint-disable-next-line max-params
export function isLongNumber(
  bytes: Uint8Array,
  start: number,
  end: number,
  length: number,
): boolean {
  if (end - start >= length) return true;
  for (let at = start; at < end; at += 1) if ((bytes[at] as number) > LETTERS) return true;
  return false;
}

/** For numbers with this many decimal places; below zero, of so many digits before the point. */
export function scaleRounding(scale: number): Rounding {
  return { rounds: (text) => decimalsOf(text) > scale };
}

/** Decimal places of the last digit that is not zero; `-Infinity` for zero and for no number. */
function decimalsOf(text: string): number {
  const [match, whole = '', fraction = '', bare = '', exponent = '0'] = NUMBER.exec(text) ?? [];
  if (match === undefined) return -Infinity;
  const digits = whole + fraction + bare;
  const significant = digits.replace(/0+$/, '');
  if (significant === '') return -Infinity;
  return (fraction + bare).length - Number(exponent) - (digits.length - significant.length);
}

/** For doubles. A decimal number that the double is written as is the same number. */
export const DOUBLE_ROUNDING: Rounding = {
  holdsDoubles: true,
  rounds: (text) => {
    const value = NUMBER.test(text) ? Number(text) : Number.NaN;
    if (!Number.isFinite(value)) return false;
    if (isWhole(text)) return BigInt(value) !== BigInt(text);
    return typeof exactNumber(value, text.trim()) !== 'number';
  },
};

/** Of a fraction the nearest double is what everybody expects; a whole number is somebody's key. */
export function isWhole(text: string): boolean {
  return /^-?\d+$/.test(text);
}

/** Digits that tell any two numbers of 32 bits apart. */
const FLOAT_DIGITS = 9;

/** The same for numbers of 32 bits. */
export const FLOAT_ROUNDING: Rounding = {
  rounds: (text) => {
    const value = NUMBER.test(text) ? Number(text) : Number.NaN;
    const stored = Math.fround(value);
    if (!Number.isFinite(stored) || stored === value) return DOUBLE_ROUNDING.rounds(text);
    // In the middle between two, neither of them stands for it.
    const other = 2 * value - stored;
    if (Math.fround(other) === other) return true;
    for (let digits = 1; digits <= FLOAT_DIGITS; digits += 1) {
      const shortest = Number(stored.toPrecision(digits));
      if (Math.fround(shortest) === stored) return shortest !== value;
    }
    return true;
  },
};

const FRACTION = /[T ]?\d{2}:\d{2}:\d{2}\.(\d+)/;

/** For times with so many digits of a second. */
export function secondsRounding(digits: number): Rounding {
  return {
    rounds: (text) => /[1-9]/.test((FRACTION.exec(text)?.[1] ?? '').slice(digits)),
  };
}

/** Behind a date may also stand `BC`, which is no time. */
const TIME_OF_DAY =
  /^[+-]?\d{4,}-\d\d-\d\d(?: \(BC\))?[T ](?=\d)(?!00:00(?::00(?:\.0*)?)?(?:Z|[+-]|\s|$))/;

/** For dates: a time of day is lost. */
export const DATE_ROUNDING: Rounding = { rounds: (text) => TIME_OF_DAY.test(text) };
