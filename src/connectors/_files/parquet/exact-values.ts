/** Values that a JSON number cannot hold, or not with all their digits. */

/** NaN and the infinities are text, because JSON has no number for them. */
export function floatNumber(value: number): number | string {
  return Number.isFinite(value) ? value : String(value);
}

/** A bigint only where a double would lose digits. */
export function wholeNumber(value: bigint): number | bigint {
  return value >= Number.MIN_SAFE_INTEGER && value <= Number.MAX_SAFE_INTEGER
    ? Number(value)
    : value;
}

/** A two's complement number, most significant byte first. */
export function signedNumber(bytes: Uint8Array): bigint {
  if (bytes.length === 0) return 0n;
  return BigInt.asIntN(bytes.length * 8, BigInt(`0x${Buffer.from(bytes).toString('hex')}`));
}

/** `-123` with scale 2 is `-1.23`. */
export function decimalText(unscaled: bigint, scale: number): string {
  if (scale <= 0) return (unscaled * 10n ** BigInt(-scale)).toString();
  const digits = (unscaled < 0n ? -unscaled : unscaled).toString().padStart(scale + 1, '0');
  return `${unscaled < 0n ? '-' : ''}${digits.slice(0, -scale)}.${digits.slice(-scale)}`;
}

export function uuidText(bytes: Uint8Array): string {
  return Buffer.from(bytes)
    .toString('hex')
    .replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}

const DECIMAL = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d{1,4}))?$/;

/** The opposite of `decimalText`; `undefined` when digits would be lost, or it is no number. */
export function unscaledOf(text: string, scale: number): bigint | undefined {
  const [match, sign = '', whole = '', fraction = '', exponent = '0'] = DECIMAL.exec(text) ?? [];
  if (match === undefined) return undefined;
  const shift = scale + Number(exponent) - fraction.length;
  const digits = BigInt(whole + fraction);
  if (shift < 0 && digits % 10n ** BigInt(-shift) !== 0n) return undefined;
  const unscaled = shift < 0 ? digits / 10n ** BigInt(-shift) : digits * 10n ** BigInt(shift);
  return sign === '-' ? -unscaled : unscaled;
}
