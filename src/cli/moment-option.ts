import { isCalendarDate } from '../lib/rfc3339.ts';
import { usageError } from './exit.ts';
import { textOption, type Option } from './option.ts';

const DATE = /^\d{4}-\d{2}-\d{2}$/;
const DATE_TIME = /^(\d{4}-\d{2}-\d{2})[Tt ]\d{2}:\d{2}:\d{2}(\.\d+)?([Zz]|[+-]\d{2}:\d{2})$/;

/** A moment: RFC 3339, or a bare date, which means midnight UTC. */
export function momentOption(about: { readonly description: string }): Option<Date | undefined> {
  const text = textOption({ ...about, value: 'TIME' });
  return {
    ...text,
    read: (given) => {
      const written = text.read(given);
      if (written === undefined) return undefined;
      const moment = parseMoment(written);
      if (moment !== undefined) return moment;
      throw usageError(`${given?.from} must be a time such as 2026-01-31T08:00:00Z, or a date, got ${JSON.stringify(written)}`);
    },
  };
}

export function parseMoment(text: string): Date | undefined {
  const date = DATE.test(text) ? text : DATE_TIME.exec(text)?.[1];
  if (date === undefined || !isCalendarDate(date)) return undefined;
  const moment = new Date(DATE.test(text) ? `${text}T00:00:00Z` : text.replace(' ', 'T').toUpperCase());
  return Number.isNaN(moment.getTime()) ? undefined : moment;
}
