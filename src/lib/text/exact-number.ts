/** Whether a number in JSON text means the same after it was read as a double and written again. */

const UINT64_MAX = 2n ** 64n - 1n;
const INT64_MIN = -(2n ** 63n);
const DECIMAL = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/;

/**
 * The value of a JSON number with all of its digits: a double where writing it gives the same
 * decimal number, a `bigint` for other 64-bit integers, otherwise `undefined`. `value` is what
 * `JSON.parse` made of `source`.
 */
export function exactNumber(value: number, source: string): number | bigint | undefined {
  if (Number.isFinite(value) && plainDecimal(String(value)) === plainDecimal(source)) return value;
  if (!/^-?\d+$/.test(source)) return undefined;
  const whole = BigInt(source);
  return whole <= UINT64_MAX && whole >= INT64_MIN ? whole : undefined;
}

/** One spelling for each decimal number: its digits without outer zeros, and a power of ten. */
function plainDecimal(text: string): string | undefined {
  const [, sign, whole, fraction = '', exponent = '0'] = DECIMAL.exec(text) ?? [];
  if (whole === undefined) return undefined;
  const digits = (whole + fraction).replace(/^0+/, '');
  const significant = digits.replace(/0+$/, '');
  if (significant === '') return '0';
  const power = Number(exponent) - fraction.length + digits.length - significant.length;
  return `${sign}${significant}e${power}`;
}
