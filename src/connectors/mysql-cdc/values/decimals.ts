/** Decimals of the binary log: nine digits in four bytes, the highest first, with the sign in the first bit. */
import type { ByteReader } from '../read/byte-reader.ts';

const DIGITS = 9;
/** Bytes of so many digits. */
const BYTES = [0, 1, 1, 2, 2, 3, 3, 4, 4, 4] as const;

export interface DecimalShape {
  readonly precision: number;
  readonly scale: number;
  /** Zeros in front, as `ZEROFILL` shows them. */
  readonly isFilled: boolean;
}

export function readDecimal(
  from: ByteReader,
  { precision, scale, isFilled }: DecimalShape,
): string {
  const whole = precision - scale;
  const sizes = [...chunkSizes(whole).reverse(), ...chunkSizes(scale)];
  const bytes = from.take(sizes.reduce((sum, digits) => sum + (BYTES[digits] ?? 0), 0));
  const isNegative = ((bytes[0] ?? 0) & 0x80) === 0;
  let [digits, at] = ['', 0];
  for (const count of sizes) {
    const size = BYTES[count] ?? 0;
    let value = bytes.readUIntBE(at, size);
    const highest = 2 ** (8 * size);
    if (at === 0) value = value >= highest / 2 ? value - highest / 2 : value + highest / 2;
    if (isNegative) value = highest - 1 - value;
    digits += String(value).padStart(count, '0');
    at += size;
  }
  const before = isFilled ? digits.slice(0, whole) : digits.slice(0, whole).replace(/^0+/, '');
  const after = scale === 0 ? '' : `.${digits.slice(whole)}`;
  return `${isNegative ? '-' : ''}${before === '' ? '0' : before}${after}`;
}

/** Full chunks, then what is left. */
function chunkSizes(digits: number): number[] {
  const sizes = Array.from({ length: Math.floor(digits / DIGITS) }, () => DIGITS as number);
  return digits % DIGITS === 0 ? sizes : [...sizes, digits % DIGITS];
}
