import type { DateTime } from 'luxon';
import { luxon } from '../../lib/lazy.ts';

/** The POSIX conversions of `strftime`, in English, in the zone of the time. */
const CONVERSIONS: Readonly<Record<string, (at: DateTime) => string>> = {
  '%': () => '%',
  n: () => '\n',
  t: () => '\t',
  A: (at) => at.setLocale('en-US').toFormat('cccc'),
  a: (at) => at.setLocale('en-US').toFormat('ccc'),
  B: (at) => at.setLocale('en-US').toFormat('LLLL'),
  b: (at) => at.setLocale('en-US').toFormat('LLL'),
  h: (at) => at.setLocale('en-US').toFormat('LLL'),
  C: (at) => two(Math.floor(at.year / 100)),
  c: (at) => strftime(at, '%a %b %e %H:%M:%S %Y'),
  D: (at) => strftime(at, '%m/%d/%y'),
  d: (at) => two(at.day),
  e: (at) => String(at.day).padStart(2),
  F: (at) => strftime(at, '%Y-%m-%d'),
  f: (at) => `${String(at.millisecond).padStart(3, '0')}000000`,
  G: (at) => String(at.weekYear).padStart(4, '0'),
  g: (at) => two(at.weekYear % 100),
  H: (at) => two(at.hour),
  I: (at) => two(at.hour % 12 === 0 ? 12 : at.hour % 12),
  j: (at) => String(at.ordinal).padStart(3, '0'),
  k: (at) => String(at.hour).padStart(2),
  L: (at) => String(at.millisecond).padStart(3, '0'),
  l: (at) => String(at.hour % 12 === 0 ? 12 : at.hour % 12).padStart(2),
  M: (at) => two(at.minute),
  m: (at) => two(at.month),
  P: (at) => (at.hour < 12 ? 'am' : 'pm'),
  p: (at) => (at.hour < 12 ? 'AM' : 'PM'),
  R: (at) => strftime(at, '%H:%M'),
  r: (at) => strftime(at, '%I:%M:%S %p'),
  S: (at) => two(at.second),
  s: (at) => String(Math.floor(at.toMillis() / 1000)),
  T: (at) => strftime(at, '%H:%M:%S'),
  U: (at) => two(Math.floor((at.ordinal + 6 - (at.weekday % 7)) / 7)),
  u: (at) => String(at.weekday),
  V: (at) => two(at.weekNumber),
  v: (at) => strftime(at, '%e-%b-%Y'),
  W: (at) => two(Math.floor((at.ordinal + 6 - (at.weekday - 1)) / 7)),
  w: (at) => String(at.weekday % 7),
  X: (at) => strftime(at, '%H:%M:%S'),
  x: (at) => strftime(at, '%m/%d/%y'),
  Y: (at) => String(at.year).padStart(4, '0'),
  y: (at) => two(at.year % 100),
  Z: (at) => at.setLocale('en-US').offsetNameShort ?? at.toFormat('ZZ'),
  z: (at) => at.toFormat('ZZZ'),
};

const PADS: Readonly<Record<string, string>> = { '-': '', _: ' ', '0': '0' };
const CONVERSION = /%(:?)([-_0]?)(.?)/gsu;

/** What is wrong with a format, or `undefined`. */
export function strftimeFault(format: string): string | undefined {
  if (format === '') return 'the format is empty';
  for (const [whole, colon, , letter] of format.matchAll(CONVERSION)) {
    if (letter === '' || letter === undefined)
      return 'the format ends in the middle of a specifier';
    if (!Object.hasOwn(CONVERSIONS, letter) || (colon === ':' && letter !== 'z'))
      return `\`${whole}\` is not a format specifier`;
  }
  return undefined;
}

/** Renders a format that has no fault. */
export function strftime(at: DateTime, format: string): string {
  return format.replace(CONVERSION, (_whole, colon: string, pad: string, letter: string) => {
    if (colon === ':') return at.toFormat('ZZ');
    const text = CONVERSIONS[letter]?.(at) ?? '';
    const fill = PADS[pad];
    if (fill === undefined) return text;
    return text.replace(/^[0 ]+(?=\d)/, (lead) => (fill === '' ? '' : fill.repeat(lead.length)));
  });
}

function two(value: number): string {
  return String(value).padStart(2, '0');
}

/** Whether a name is an IANA time zone this process knows. An offset such as `+02:00` is none. */
export function isZone(name: string): boolean {
  return /^[A-Za-z]/.test(name) && luxon().Info.isValidIANAZone(name);
}
