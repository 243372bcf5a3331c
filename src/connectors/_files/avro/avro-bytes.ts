/**
 * Two's complement, most significant byte first: in as few bytes as hold it, or in `size` bytes;
 * `undefined` where those are not enough.
 */
export function bytesOfInteger(value: bigint, size?: number): Buffer | undefined {
  const holds = (bytes: number): boolean => BigInt.asIntN(bytes * 8, value) === value;
  let length = size ?? 1;
  while (!holds(length)) {
    if (length === size) return undefined;
    length += 1;
  }
  const digits = BigInt.asUintN(length * 8, value).toString(16);
  return Buffer.from(digits.padStart(length * 2, '0'), 'hex');
}
