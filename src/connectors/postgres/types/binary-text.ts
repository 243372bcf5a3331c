/**
 * Converts values in the binary form of COPY to the text the server would write (dates ISO, zone
 * UTC, bytes hex).
 */

export type BinaryText = (bytes: Buffer) => string;

/** Types that are passed on in binary form, which is the same on every server. */
export const BINARY_TEXTS: Readonly<Record<number, BinaryText>> = {
  16: (bytes) => (bytes[0] === 1 ? 't' : 'f'),
  17: (bytes) => `\\x${bytes.toString('hex')}`,
  19: utf8,
  20: (bytes) => bytes.readBigInt64BE().toString(),
  21: (bytes) => bytes.readInt16BE().toString(),
  23: (bytes) => bytes.readInt32BE().toString(),
  25: utf8,
  114: utf8,
  700: (bytes) => float4Text(bytes.readFloatBE()),
  701: (bytes) => bytes.readDoubleBE().toString(),
  1042: utf8,
  1043: utf8,
  1082: (bytes) => dateText(bytes.readInt32BE()),
  1083: (bytes) => timeText(bytes.readBigInt64BE()),
  1114: (bytes) => momentText(bytes.readBigInt64BE(), ''),
  1184: (bytes) => momentText(bytes.readBigInt64BE(), '+00'),
  1700: numericText,
  2950: (bytes) =>
    bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5'),
  // One byte of version comes first.
  3802: (bytes) => bytes.toString('utf8', 1),
};

function utf8(bytes: Buffer): string {
  return bytes.toString('utf8');
}

/** The fewest digits that give the same 32-bit number. */
function float4Text(value: number): string {
  for (let digits = 6; digits < 9; digits += 1) {
    const text = value.toPrecision(digits);
    if (Math.fround(Number(text)) === value) return String(Number(text));
  }
  return String(Number(value.toPrecision(9)));
}

const DAY_MICROS = 86_400_000_000n;
const MAX_INT32 = 2 ** 31 - 1;
const MAX_INT64 = 2n ** 63n - 1n;

function momentText(micros: bigint, zone: string): string {
  if (micros === MAX_INT64) return 'infinity';
  if (micros === -MAX_INT64 - 1n) return '-infinity';
  const rest = ((micros % DAY_MICROS) + DAY_MICROS) % DAY_MICROS;
  const { date, era } = calendarDay(Number((micros - rest) / DAY_MICROS));
  return `${date} ${timeText(rest)}${zone}${era}`;
}

function dateText(days: number): string {
  if (days === MAX_INT32) return 'infinity';
  if (days === -MAX_INT32 - 1) return '-infinity';
  const { date, era } = calendarDay(days);
  return date + era;
}

/** Days from the first of March of the year 0 to the first of January 2000. */
const FROM_MARCH_0 = 730_425;
const ERA_DAYS = 146_097;

/** The Gregorian date this many days after 2000-01-01, in any century. */
function calendarDay(days: number): { date: string; era: '' | ' BC' } {
  const since = days + FROM_MARCH_0;
  const cycle = Math.floor(since / ERA_DAYS);
  const day = since - cycle * ERA_DAYS;
  const yearOfCycle = Math.floor(
    (day - Math.floor(day / 1460) + Math.floor(day / 36_524) - Math.floor(day / 146_096)) / 365,
  );
  const dayOfYear =
    day - (365 * yearOfCycle + Math.floor(yearOfCycle / 4) - Math.floor(yearOfCycle / 100));
  const monthFromMarch = Math.floor((5 * dayOfYear + 2) / 153);
  const dayOfMonth = dayOfYear - Math.floor((153 * monthFromMarch + 2) / 5) + 1;
  const month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9;
  const year = yearOfCycle + cycle * 400 + (month <= 2 ? 1 : 0);
  const shown = year > 0 ? year : 1 - year;
  return {
    date: `${String(shown).padStart(4, '0')}-${two(month)}-${two(dayOfMonth)}`,
    era: year > 0 ? '' : ' BC',
  };
}

function timeText(micros: bigint): string {
  const seconds = Number(micros / 1_000_000n);
  const fraction = String(micros % 1_000_000n)
    .padStart(6, '0')
    .replace(/0+$/, '');
  const clock = `${two(Math.floor(seconds / 3600))}:${two(Math.floor(seconds / 60) % 60)}:${two(seconds % 60)}`;
  return fraction === '' ? clock : `${clock}.${fraction}`;
}

function two(value: number): string {
  return String(value).padStart(2, '0');
}

const NUMERIC_SIGNS: Readonly<Record<number, string>> = {
  0xc000: 'NaN',
  0xd000: 'Infinity',
  0xf000: '-Infinity',
};
const NUMERIC_HEAD = 8;
const GROUP = 4;

/**
 * Groups of four decimal digits, the weight of the first, a sign and the number of decimals shown.
 */
function numericText(bytes: Buffer): string {
  const [count, weight, sign, decimals] = [
    bytes.readInt16BE(0),
    bytes.readInt16BE(2),
    bytes.readUInt16BE(4),
    bytes.readInt16BE(6),
  ];
  const special = NUMERIC_SIGNS[sign];
  if (special !== undefined) return special;
  const group = (index: number): string =>
    index >= 0 && index < count
      ? String(bytes.readInt16BE(NUMERIC_HEAD + index * 2)).padStart(GROUP, '0')
      : '0000';
  let whole = '';
  for (let index = 0; index <= weight; index += 1) whole += group(index);
  let part = '';
  for (let index = weight + 1; part.length < decimals; index += 1) part += group(index);
  const text = `${sign === 0x4000 ? '-' : ''}${whole.replace(/^0+(?=\d)/, '') || '0'}`;
  return decimals === 0 ? text : `${text}.${part.slice(0, decimals)}`;
}
