/** What the bytes of a text cell spell, found without making a string. */

const MINUS = 0x2d;
const POINT = 0x2e;
const ZERO = 0x30;
const NINE = 0x39;
const COLON = 0x3a;
const LETTER_T = 0x54;
const LETTER_Z = 0x5a;
/** A number with at most so many digits is written exactly as it was read. */
const EXACT_DIGITS = 15;
/** With more zeros behind the point a number is written with an exponent. */
const PLAIN_ZEROS = 5;

/** A whole number in the canonical form: neither `007` nor `-0` is how a number is written. */
export function isInteger(bytes: Uint8Array, start: number, end: number): boolean {
  const first = bytes[start] === MINUS ? start + 1 : start;
  if (end === first || end - first > EXACT_DIGITS) return false;
  if (bytes[first] === ZERO && end - start > 1) return false;
  return digitsEnd(bytes, first, end) === end;
}

/** A fraction in the canonical form, with few enough digits to be exact. */
export function isFraction(bytes: Uint8Array, start: number, end: number): boolean {
  const first = bytes[start] === MINUS ? start + 1 : start;
  if (end - first > EXACT_DIGITS + 1 || bytes[end - 1] === ZERO) return false;
  const point = digitsEnd(bytes, first, end);
  if (point === first || point >= end - 1 || bytes[point] !== POINT) return false;
  if (digitsEnd(bytes, point + 1, end) !== end) return false;
  if (bytes[first] !== ZERO) return true;
  let zeros = point + 1;
  while (bytes[zeros] === ZERO) zeros += 1;
  return point - first === 1 && zeros - point - 1 <= PLAIN_ZEROS;
}

function digitsEnd(bytes: Uint8Array, from: number, end: number): number {
  let at = from;
  while (at < end && (bytes[at] as number) >= ZERO && (bytes[at] as number) <= NINE) at += 1;
  return at;
}

/** Whether these bytes are this ASCII text. */
// oxlint-disable-next-line max-params
export function reads(bytes: Uint8Array, start: number, end: number, text: string): boolean {
  if (end - start !== text.length) return false;
  for (let index = 0; index < text.length; index += 1)
    if (bytes[start + index] !== text.charCodeAt(index)) return false;
  return true;
}

export interface DigitRoom {
  /** Digits before the point, and after it. */
  readonly whole: number;
  readonly fraction: number;
}

/** A decimal number without leading zeros and without an exponent. */
// oxlint-disable-next-line max-params
export function isDecimal(
  bytes: Uint8Array,
  start: number,
  end: number,
  { whole, fraction }: DigitRoom,
): boolean {
  const first = bytes[start] === MINUS ? start + 1 : start;
  const point = digitsEnd(bytes, first, end);
  const digits = point - first;
  if (digits === 0 || (bytes[first] === ZERO && digits > 1)) return false;
  if (digits > whole && bytes[first] !== ZERO) return false;
  if (point === end) return true;
  if (bytes[point] !== POINT || point + 1 === end || end - point - 1 > fraction) return false;
  return digitsEnd(bytes, point + 1, end) === end;
}

const DATE_SIZE = 10;
const CLOCK_END = 19;
const FEBRUARY = 2;
const DAYS = [0, 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

/** `2024-02-29`: a day of the calendar. */
export function isDate(bytes: Uint8Array, start: number, end: number): boolean {
  if (end - start !== DATE_SIZE || bytes[start + 4] !== MINUS || bytes[start + 7] !== MINUS)
    return false;
  const year = numberAt(bytes, start, 4);
  const month = numberAt(bytes, start + 5, 2);
  const day = numberAt(bytes, start + 8, 2);
  const isLeap = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
  const days = month === FEBRUARY && isLeap ? 29 : (DAYS[month] ?? 0);
  return year >= 0 && day >= 1 && day <= days;
}

export interface MomentForm {
  /** Whether `Z` ends it. */
  readonly isInstant: boolean;
  /** Most digits behind the second. */
  readonly digits: number;
}

/** `2024-02-29T07:08:09.5` */
// oxlint-disable-next-line max-params
export function isMoment(
  bytes: Uint8Array,
  start: number,
  end: number,
  { isInstant, digits }: MomentForm,
): boolean {
  const stop = isInstant ? end - 1 : end;
  if (stop - start < CLOCK_END || (isInstant && bytes[stop] !== LETTER_Z)) return false;
  if (!isDate(bytes, start, start + DATE_SIZE) || bytes[start + DATE_SIZE] !== LETTER_T)
    return false;
  if (bytes[start + 13] !== COLON || bytes[start + 16] !== COLON) return false;
  const hour = numberAt(bytes, start + 11, 2);
  const minute = numberAt(bytes, start + 14, 2);
  const second = numberAt(bytes, start + 17, 2);
  if (hour < 0 || hour > 23 || minute < 0 || minute > 59 || second < 0 || second > 59) return false;
  const point = start + CLOCK_END;
  if (stop === point) return true;
  if (stop - point - 1 > digits) return false;
  return bytes[point] === POINT && stop > point + 1 && digitsEnd(bytes, point + 1, stop) === stop;
}

/** -1 when one of the bytes is no digit. */
function numberAt(bytes: Uint8Array, at: number, size: number): number {
  let value = 0;
  for (let index = at; index < at + size; index += 1) {
    const digit = (bytes[index] as number) - ZERO;
    if (!(digit >= 0 && digit <= 9)) return -1;
    value = value * 10 + digit;
  }
  return value;
}
