import { daysOf, nanosOfTimestamp } from '../../lib/time/iso-text.ts';
import { isCalendarDate } from '../../lib/time/rfc3339.ts';

const MOMENT =
  /^(\d{4}-\d{2}-\d{2})(?:[Tt ](\d{2}):(\d{2}):(\d{2})(?:\.(\d+))?(?: ?([Zz]|[+-]\d{2}(?::?\d{2})?))?)?$/;

/**
 * The instant a text spells, in microseconds of 1970, as a text; `undefined` when it spells none.
 * Without a zone it is UTC.
 */
export function instantText(text: string): string | undefined {
  // Most texts are none, and this is cheaper than the whole pattern.
  if (text.length < 10) return undefined;
  if (text[4] !== '-' || text.includes('BC')) return instantOfUnusualYear(text);
  const [, date, hour = '00', minute = '00', second = '00', fraction = '', zone = 'Z'] =
    MOMENT.exec(text) ?? [];
  if (
    date === undefined ||
    !isCalendarDate(date) ||
    Number(hour) > 23 ||
    Number(minute) > 59 ||
    Number(second) > 59
  )
    return undefined;
  const seconds = Date.parse(`${date}T${hour}:${minute}:${second}Z`) / 1000 - offsetSeconds(zone);
  return `${seconds}.${fraction.slice(0, 6).padEnd(6, '0')}`;
}

const UNUSUAL_YEAR = /^(?:[+-]\d{4,9}-|\d{5,9}-|\d{4}-\d{2}-\d{2}.* \(?BC)/;
const SECOND_NANOS = 1_000_000_000n;
const DAY_NANOS = 86_400n * SECOND_NANOS;

/** Before Christ or after 9999: every database has a spelling of its own for these years. */
function instantOfUnusualYear(text: string): string | undefined {
  if (!UNUSUAL_YEAR.test(text)) return undefined;
  const days = daysOf(text);
  const nanos = days === undefined ? nanosOfTimestamp(text) : BigInt(days) * DAY_NANOS;
  if (nanos === undefined) return undefined;
  const below = ((nanos % SECOND_NANOS) + SECOND_NANOS) % SECOND_NANOS;
  return `${(nanos - below) / SECOND_NANOS}.${String(below / 1000n).padStart(6, '0')}`;
}

function offsetSeconds(zone: string): number {
  const [, sign, hours = '0', minutes = '0'] = /^([+-])(\d{2}):?(\d{2})?$/.exec(zone) ?? [];
  if (sign === undefined) return 0;
  return (sign === '-' ? -1 : 1) * (Number(hours) * 3600 + Number(minutes) * 60);
}
