import { parseMoment } from '../../lib/time/rfc3339.ts';
import { usageError } from './exit.ts';
import { textOption, type Option } from './option.ts';

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
      throw usageError(
        `${given?.from} must be a time such as 2026-01-31T08:00:00Z, or a date, got ${JSON.stringify(written)}`,
      );
    },
  };
}
