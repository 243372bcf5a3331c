const FLOAT_DIGITS = 9;

/** The shortest decimal that is the same number of 32 bits. */
export function shortestFloat(value: number): number {
  for (let digits = 1; digits < FLOAT_DIGITS; digits += 1) {
    const short = Number(value.toPrecision(digits));
    if (Math.fround(short) === value) return short;
  }
  return Number(value.toPrecision(FLOAT_DIGITS));
}
