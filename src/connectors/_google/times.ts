/** Dates and times as GoogleSQL reads them. A clock without a zone is one of UTC. */
import type { JsonValue } from '../../lib/text/json.ts';
import { isCalendarDate } from '../../lib/time/rfc3339.ts';

const DAY = /^(\d{4}-\d{2}-\d{2})(?:$|[T ])/;
const CLOCK = /^(\d{2}):(\d{2})(?::(\d{2})(?:\.(\d+))?)?$/;
const MOMENT =
  /^(\d{4}-\d{2}-\d{2})(?:[T ](\d{2}:\d{2})(?::(\d{2})(?:\.(\d+))?)?)?\s*(Z|[+-]\d{2}:?\d{2}|UTC)?$/i;
const FIRST_DAY = '0001-01-01';
/** Digits of a second that a number in a record tells. */
const NUMBER_DIGITS = 6;
const MS = 1000;

export function dateText(value: JsonValue): string | undefined {
  const day = typeof value === 'string' ? DAY.exec(value)?.[1] : undefined;
  return day !== undefined && isDay(day) ? day : undefined;
}

/** `digits`: how many of a second the column holds. */
export function timeText(value: JsonValue, digits: number): string | undefined {
  const found = typeof value === 'string' ? CLOCK.exec(value) : null;
  if (found === null) return undefined;
  const [, hours = '', minutes = '', seconds = '00', fraction = ''] = found;
  if (Number(hours) > 23 || Number(minutes) > 59 || Number(seconds) > 59) return undefined;
  return `${hours}:${minutes}:${seconds}${fractionText(fraction, digits)}`;
}

/** `2024-05-06 07:08:09.5` in UTC; a number is seconds since 1970. */
export function momentText(value: JsonValue, digits: number): string | undefined {
  if (typeof value === 'number') return ofSeconds(value);
  if (typeof value !== 'string') return undefined;
  const [match, day = '', clock = '00:00', seconds = '00', fraction = '', zone = 'Z'] =
    MOMENT.exec(value.trim()) ?? [];
  if (match === undefined || !isDay(day)) return undefined;
  const offset = /^(?:z|utc)$/i.test(zone) ? 'Z' : zone;
  const moment = new Date(`${day}T${clock}:${seconds}${offset}`);
  const utc = textOf(moment);
  return utc === undefined ? undefined : `${utc}${fractionText(fraction, digits)}`;
}

function ofSeconds(value: number): string | undefined {
  const seconds = Math.floor(value);
  const utc = textOf(new Date(seconds * MS));
  const fraction = /\.(\d+)$/.exec((value - seconds).toFixed(NUMBER_DIGITS))?.[1] ?? '';
  return utc === undefined ? undefined : `${utc}${fractionText(fraction, NUMBER_DIGITS)}`;
}

function textOf(moment: Date): string | undefined {
  if (Number.isNaN(moment.getTime())) return undefined;
  const text = moment.toISOString();
  return text.length === 24 && text >= FIRST_DAY ? text.slice(0, 19).replace('T', ' ') : undefined;
}

function isDay(day: string): boolean {
  return day >= FIRST_DAY && isCalendarDate(day);
}

function fractionText(fraction: string, most: number): string {
  const digits = fraction.slice(0, most).replace(/0+$/, '');
  return digits === '' ? '' : `.${digits}`;
}
