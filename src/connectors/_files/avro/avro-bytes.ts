/** Values that Avro stores as bytes. */

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

const DURATION =
  /^P(?:(\d+)Y)?(?:(\d+)M)?(?:(\d+)W)?(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)(?:\.(\d{1,3})0*)?S)?)?$/;
const UINT32_MAX = 2 ** 32 - 1;

/** Months, days and milliseconds; `undefined` for what they cannot say, such as negative ones. */
export function bytesOfDuration(text: string): Buffer | undefined {
  const parts = DURATION.exec(text);
  if (parts === null) return undefined;
  const [years, months, weeks, days, hours, minutes, seconds] = parts
    .slice(1, 8)
    .map((part) => Number(part ?? 0)) as [number, number, number, number, number, number, number];
  const millis = Number((parts[8] ?? '').padEnd(3, '0'));
  const stored = [
    years * 12 + months,
    weeks * 7 + days,
    ((hours * 60 + minutes) * 60 + seconds) * 1000 + millis,
  ];
  if (stored.some((number) => number > UINT32_MAX)) return undefined;
  const bytes = Buffer.alloc(12);
  for (const [index, number] of stored.entries()) bytes.writeUInt32LE(number, index * 4);
  return bytes;
}
