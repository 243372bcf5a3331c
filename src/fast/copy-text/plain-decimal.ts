/** Decimal numbers in the text form of COPY. */

const MINUS = 45;
const DOT = 46;
const ZERO = 48;
const NINE = 57;
const NO_VALUE = -1;

/**
 * Up to this many digits, PostgreSQL and JSON write a decimal in the same way.
 */
const PLAIN_DIGITS = 15;

/**
 * Whether a text is the shortest way to write its decimal: few enough digits, no needless zero, not so
 * small that JSON writes an exponent.
 */
export function isPlainDecimal(rows: Uint8Array, from: number, to: number): boolean {
  const start = rows[from] === MINUS ? from + 1 : from;
  if (to - start > PLAIN_DIGITS + 1 || to === start) return false;
  let point = NO_VALUE;
  for (let at = start; at < to; at += 1) {
    const byte = rows[at] as number;
    if (byte === DOT && point === NO_VALUE) point = at;
    else if (byte < ZERO || byte > NINE) return false;
  }
  if (point === NO_VALUE)
    return (
      to - start <= PLAIN_DIGITS && (rows[start] !== ZERO || (to - start === 1 && start === from))
    );
  if (rows[to - 1] === ZERO || point === to - 1) return false;
  return rows[start] !== ZERO || hasEarlyDigit(rows, point, to);
}

/** Below 0.000001 JSON writes an exponent. */
function hasEarlyDigit(rows: Uint8Array, point: number, to: number): boolean {
  for (let at = point + 1; at < to && at <= point + 6; at += 1) if (rows[at] !== ZERO) return true;
  return false;
}
