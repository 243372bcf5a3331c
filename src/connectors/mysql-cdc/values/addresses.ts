/** Values of the types `uuid`, `inet4` and `inet6` of MariaDB, which the log holds as bytes. */

/**
 * Most versions of UUIDs are stored with their node first, so that they are in order of time; servers
 * log them as they are written, or as they are stored.
 */
export function uuidText(bytes: Buffer): string {
  const isSwapped = ((bytes[6] ?? 0) & -(bytes[8] ?? 0) & 0x80) !== 0;
  const hex = bytes.toString('hex');
  const parts = isSwapped
    ? [hex.slice(24), hex.slice(20, 24), hex.slice(16, 20), hex.slice(12, 16), hex.slice(0, 12)]
    : [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)];
  return parts.join('-');
}

export function inet4Text(bytes: Buffer): string {
  return [...bytes].join('.');
}

/** The longest run of zeros is left out; addresses of version 4 in the last bytes are written as such. */
export function inet6Text(bytes: Buffer): string {
  const words = Array.from({ length: 8 }, (_, index) => bytes.readUInt16BE(index * 2));
  const gap = longestZeros(words);
  const isMapped = gap?.from === 0 && (gap.count === 6 || (gap.count === 5 && words[5] === 0xffff));
  const parts = words.map((word) => word.toString(16));
  if (isMapped) parts.splice(6, 2, inet4Text(bytes.subarray(12)));
  if (gap === undefined) return parts.join(':');
  const [before, after] = [parts.slice(0, gap.from), parts.slice(gap.from + gap.count)];
  return `${before.join(':')}::${after.join(':')}`;
}

interface Zeros {
  readonly from: number;
  readonly count: number;
}

/** Also of a single one, as the server writes it. */
function longestZeros(words: readonly number[]): Zeros | undefined {
  let found: Zeros | undefined;
  for (let from = 0; from < words.length; from += 1) {
    const end = words.findIndex((word, index) => index >= from && word !== 0);
    const count = (end === -1 ? words.length : end) - from;
    if (count > (found?.count ?? 0)) found = { from, count };
  }
  return found;
}
