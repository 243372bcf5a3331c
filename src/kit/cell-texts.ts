/** What the bytes of a text cell spell, found without making a string. */

const MINUS = 0x2d;
const POINT = 0x2e;
const ZERO = 0x30;
const NINE = 0x39;
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
