/** A whole number, exact: a bigint, a safe integer, or digits, as databases give exact numbers. */
export function wholeNumber(value: unknown): bigint | undefined {
  if (typeof value === 'bigint') return value;
  if (typeof value === 'number') return Number.isSafeInteger(value) ? BigInt(value) : undefined;
  return typeof value === 'string' ? parseWhole(value) : undefined;
}

/** Text of digits with an optional sign. The bound keeps long garbage from costing time. */
export function parseWhole(text: string): bigint | undefined {
  return /^[+-]?\d{1,40}$/.test(text) ? BigInt(text.replace('+', '')) : undefined;
}
