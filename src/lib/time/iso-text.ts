/** Days and times as ISO 8601 text over the whole range of 64 bits; `Date` ends in the year 275760. */

const DAY_SECONDS = 86_400n;
const SECOND_NS = 1_000_000_000n;
/** Beyond this many days from 1970 `Date` has no answer. */
const DATE_DAYS = 100_000_000;
/** 400 years, after which the calendar repeats itself. */
const ERA_DAYS = 146_097;

/** The day so many days after 1970-01-01; years outside 0 to 9999 have a sign and six digits. */
export function dateText(days: number): string {
  if (Math.abs(days) <= DATE_DAYS)
    return new Date(days * 86_400_000).toISOString().split('T')[0] ?? '';
  const eras = Math.floor(days / ERA_DAYS);
  const within = new Date((days - eras * ERA_DAYS) * 86_400_000);
  const year = within.getUTCFullYear() + eras * 400;
  const sign = year < 0 ? '-' : '+';
  return `${sign}${String(Math.abs(year)).padStart(6, '0')}${within.toISOString().slice(4, 10)}`;
}

/** A time of day in nanoseconds. */
export function timeText(nanos: bigint): string {
  const seconds = Number(nanos / SECOND_NS);
  return clockText(seconds) + fraction(nanos % SECOND_NS);
}

/** A moment in nanoseconds since 1970; `utc` says that it is one, and no time of a wall clock. */
export function timestampText(nanos: bigint, utc: boolean): string {
  const below = modulo(nanos, SECOND_NS);
  const seconds = (nanos - below) / SECOND_NS;
  const within = modulo(seconds, DAY_SECONDS);
  const day = dateText(Number((seconds - within) / DAY_SECONDS));
  return `${day}T${clockText(Number(within))}${fraction(below)}${utc ? 'Z' : ''}`;
}

function modulo(value: bigint, by: bigint): bigint {
  return ((value % by) + by) % by;
}

function clockText(seconds: number): string {
  return [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60, seconds % 60]
    .map((part) => String(part).padStart(2, '0'))
    .join(':');
}

/** Three, six or nine digits, as many as are needed. */
function fraction(nanos: bigint): string {
  if (nanos === 0n) return '';
  const digits = nanos
    .toString()
    .padStart(9, '0')
    .replace(/(000){1,2}$/, '');
  return `.${digits}`;
}
