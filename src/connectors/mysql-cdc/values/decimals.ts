/**
 * Decimals of the binary log: nine digits in four bytes, the highest first, with the sign in the first
 * bit.
 */
import type { ByteReader } from '../read/byte-reader.ts';

const DIGITS = 9;
/** Bytes of so many digits. */
const BYTES = [0, 1, 1, 2, 2, 3, 3, 4, 4, 4] as const;

interface Chunk {
  readonly digits: number;
  readonly bytes: number;
}

export interface DecimalShape {
  /** Digits before the point. */
  readonly whole: number;
  readonly scale: number;
  /** Zeros in front, as `ZEROFILL` shows them. */
  readonly isFilled: boolean;
  readonly chunks: readonly Chunk[];
}

export function decimalShape(precision: number, scale: number, isFilled = false): DecimalShape {
  const whole = precision - scale;
  const sizes = [...chunkSizes(whole).reverse(), ...chunkSizes(scale)];
  const chunks = sizes.map((digits) => ({ digits, bytes: BYTES[digits] ?? 0 }));
  return { whole, scale, isFilled, chunks };
}

export function readDecimal(
  from: ByteReader,
  { whole, scale, isFilled, chunks }: DecimalShape,
): string {
  const isNegative = (from.bytes.readUInt8(from.at) & 0x80) === 0;
  let [digits, isFirst] = ['', true];
  for (const { digits: count, bytes } of chunks) {
    let value = from.bytes.readUIntBE(from.at, bytes);
    from.at += bytes;
    const highest = 2 ** (8 * bytes);
    if (isFirst) value += value >= highest / 2 ? -highest / 2 : highest / 2;
    isFirst = false;
    if (isNegative) value = highest - 1 - value;
    digits += String(value).padStart(count, '0');
  }
  let zeros = 0;
  if (!isFilled) while (zeros < whole && digits[zeros] === '0') zeros += 1;
  const before = zeros === whole ? '0' : digits.slice(zeros, whole);
  return `${isNegative ? '-' : ''}${before}${scale === 0 ? '' : `.${digits.slice(whole)}`}`;
}

/** Full chunks, then what is left. */
function chunkSizes(digits: number): number[] {
  const sizes = Array.from({ length: Math.floor(digits / DIGITS) }, () => DIGITS as number);
  return digits % DIGITS === 0 ? sizes : [...sizes, digits % DIGITS];
}
