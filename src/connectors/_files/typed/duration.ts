/**
 * Durations as Avro and Parquet store them: months, days and milliseconds, each an unsigned number
 * of four bytes. In records they are ISO 8601.
 */

export function durationText(bytes: Uint8Array): string {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const [months, days, millis] = [0, 4, 8].map((at) => view.getUint32(at, true)) as [
    number,
    number,
    number,
  ];
  return `P${months}M${days}DT${millis / 1000}S`;
}

const DURATION =
  /^P(?:(\d+)Y)?(?:(\d+)M)?(?:(\d+)W)?(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)(?:\.(\d{1,3})0*)?S)?)?$/;
const UINT32_MAX = 2 ** 32 - 1;

/** `undefined` for what these cannot say, such as negative durations and microseconds. */
export function bytesOfDuration(text: string): Buffer | undefined {
  const numbers = numbersOf(text);
  return numbers === undefined ? undefined : bytesOf(numbers);
}

/** The same in words, as the analytical engine reads them. */
export function storedDuration(text: string): string | undefined {
  const numbers = numbersOf(text);
  if (numbers === undefined) return undefined;
  const [months, days, millis] = numbers;
  return `${months} months ${days} days ${millis} milliseconds`;
}

/** What `storedDuration` writes, as bytes. */
export function bytesOfStoredDuration(stored: string): Buffer {
  return bytesOf((stored.match(/\d+/g) ?? []).map(Number));
}

function bytesOf(numbers: readonly number[]): Buffer {
  const bytes = Buffer.alloc(12);
  for (const [index, number] of numbers.entries()) bytes.writeUInt32LE(number, index * 4);
  return bytes;
}

function numbersOf(text: string): readonly [number, number, number] | undefined {
  const parts = DURATION.exec(text);
  if (parts === null) return undefined;
  const [years, months, weeks, days, hours, minutes, seconds] = parts
    .slice(1, 8)
    .map((part) => Number(part ?? 0)) as [number, number, number, number, number, number, number];
  const millis = Number((parts[8] ?? '').padEnd(3, '0'));
  const numbers = [
    years * 12 + months,
    weeks * 7 + days,
    ((hours * 60 + minutes) * 60 + seconds) * 1000 + millis,
  ] as const;
  return numbers.some((number) => number > UINT32_MAX) ? undefined : numbers;
}
