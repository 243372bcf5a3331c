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
  // No time of day, but files can hold it: nothing of it is lost.
  if (nanos < 0n) return `-${timeText(-nanos)}`;
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

const DAY = /^([+-]?\d{4,9})-(\d{2})-(\d{2})$/;
const CLOCK = /^(\d{2}):(\d{2}):(\d{2})(?:\.(\d{1,9}?)0*)?$/;
const MOMENT = /^(.{10,16})[T ]([\d:.]+)(Z|[+-]\d{2}(?::?\d{2})?)?$/;
const ERA_BEFORE = / (?:BC|\(BC\))$/;

/** Days since 1970-01-01; `undefined` for a text that is no day of the calendar. */
export function daysOf(text: string): number | undefined {
  const isBefore = ERA_BEFORE.test(text);
  const [match, years = '', months = '', days = ''] =
    DAY.exec(isBefore ? text.replace(ERA_BEFORE, '') : text) ?? [];
  if (match === undefined) return undefined;
  const year = isBefore ? 1 - Number(years) : Number(years);
  const [month, day] = [Number(months), Number(days)];
  if (month < 1 || month > 12 || day < 1 || day > monthDays(year, month)) return undefined;
  return daysFromCivil(year, month, day);
}

function monthDays(year: number, month: number): number {
  if (month === 12) return 31;
  return daysFromCivil(year, month + 1, 1) - daysFromCivil(year, month, 1);
}

/** Days since 1970-01-01 in the calendar of today, whatever the year; years start in March. */
function daysFromCivil(year: number, month: number, day: number): number {
  const shifted = month <= 2 ? year - 1 : year;
  const era = Math.floor(shifted / 400);
  const yearOfEra = shifted - era * 400;
  const dayOfYear = Math.floor((153 * (month + (month > 2 ? -3 : 9)) + 2) / 5) + day - 1;
  const dayOfEra =
    yearOfEra * 365 + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100) + dayOfYear;
  return era * ERA_DAYS + dayOfEra - 719_468;
}

/** A time of day in nanoseconds, up to 24:00:00. */
export function nanosOfTime(text: string): bigint | undefined {
  const [match, hours = '', minutes = '', seconds = '', digits = ''] = CLOCK.exec(text) ?? [];
  if (match === undefined || Number(minutes) > 59 || Number(seconds) > 59) return undefined;
  const whole = Number(hours) * 3600 + Number(minutes) * 60 + Number(seconds);
  const nanos = BigInt(whole) * SECOND_NS + BigInt(digits.padEnd(9, '0'));
  return nanos <= DAY_SECONDS * SECOND_NS ? nanos : undefined;
}

/** Nanoseconds since 1970 of a date with a time; without an offset as if it were UTC. */
export function nanosOfTimestamp(text: string): bigint | undefined {
  const isBefore = ERA_BEFORE.test(text);
  const [, day = '', clock = '', zone = ''] =
    MOMENT.exec(isBefore ? text.replace(ERA_BEFORE, '') : text) ?? [];
  const days = daysOf(isBefore ? `${day} BC` : day);
  const nanos = nanosOfTime(clock);
  if (days === undefined || nanos === undefined) return undefined;
  return (BigInt(days) * DAY_SECONDS - BigInt(offsetSeconds(zone))) * SECOND_NS + nanos;
}

function offsetSeconds(zone: string): number {
  if (zone === '' || zone === 'Z') return 0;
  const seconds = Number(zone.slice(1, 3)) * 3600 + Number(zone.slice(3).replace(':', '')) * 60;
  return zone.startsWith('-') ? -seconds : seconds;
}
