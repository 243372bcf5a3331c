const DATE_TIME =
  /^(\d{4}-\d{2}-\d{2})[Tt ]((?:[01]\d|2[0-3]):\d{2}:\d{2}(?:\.\d{1,9})?)([Zz]|[+-]\d{2}:\d{2})$/;

/** The instant an RFC 3339 time names, to the millisecond; `undefined` for any other text. */
export function parseRfc3339(text: string): Date | undefined {
  const [, date = '', time = '', zone = ''] = DATE_TIME.exec(text) ?? [];
  if (!isCalendarDate(date)) return undefined;
  const instant = new Date(`${date}T${time}${zone.toUpperCase()}`);
  return Number.isNaN(instant.getTime()) ? undefined : instant;
}

/**
 * Is `YYYY-MM-DD` a day of the calendar? `Date` alone would quietly take 30 February for 2 March.
 */
export function isCalendarDate(date: string): boolean {
  const midnight = new Date(`${date}T00:00:00Z`);
  return !Number.isNaN(midnight.getTime()) && midnight.toISOString().startsWith(date);
}

/** A moment as people write it: RFC 3339, or a bare date, which means midnight UTC. */
export function parseMoment(text: string): Date | undefined {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(text)) return parseRfc3339(text);
  return isCalendarDate(text) ? new Date(`${text}T00:00:00Z`) : undefined;
}
