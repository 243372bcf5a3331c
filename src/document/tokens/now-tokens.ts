/** `${now.*}`: the clock of a run as text (spec 2.5). */
import type { DateTime } from 'luxon';
import { luxon } from '../../lib/lazy.ts';
import { suggestion } from '../../lib/text/nearest.ts';
import { strftime, strftimeFault } from './strftime.ts';

/** One instant for a whole run, seen in a zone. */
export interface RunClock {
  readonly date: Date;
  /** IANA name; `UTC` unless a schedule says otherwise. */
  readonly zone: string;
}

const RENDERERS: Readonly<Record<string, (at: DateTime) => string>> = {
  date: (at) => strftime(at, '%Y-%m-%d'),
  datetime: rfc3339,
  iso: rfc3339,
  year: (at) => strftime(at, '%Y'),
  month: (at) => strftime(at, '%m'),
  day: (at) => strftime(at, '%d'),
  hour: (at) => strftime(at, '%H'),
  minute: (at) => strftime(at, '%M'),
  second: (at) => strftime(at, '%S'),
  unix: (at) => strftime(at, '%s'),
};

/** With a numeric offset, `+00:00` rather than `Z`; milliseconds only when there are some. */
export function rfc3339(at: DateTime): string {
  return strftime(at, at.millisecond === 0 ? '%Y-%m-%dT%H:%M:%S%:z' : '%Y-%m-%dT%H:%M:%S.%L%:z');
}

const STRFTIME = 'strftime.';

/** What is wrong with `${now.<name>}`, with a hint; `undefined` when it can be rendered. */
export function nowFault(
  name: string,
): { readonly message: string; readonly hint?: string } | undefined {
  if (name.startsWith(STRFTIME)) {
    const fault = strftimeFault(name.slice(STRFTIME.length));
    return fault === undefined
      ? undefined
      : {
          message: `\`\${now.${name}}\`: ${fault}`,
          hint: 'specifiers are those of strftime, e.g. `%Y/%m/%d`',
        };
  }
  if (Object.hasOwn(RENDERERS, name)) return undefined;
  const hint = suggestion(name, [...Object.keys(RENDERERS), 'strftime.<format>'], 'there are');
  const message = `\`\${now${name === '' ? '' : `.${name}`}}\` is not a token`;
  return hint === undefined ? { message } : { message, hint };
}

/** Renders a token without fault. */
export function renderNow(name: string, clock: RunClock): string {
  const at = luxon().DateTime.fromJSDate(clock.date, { zone: clock.zone });
  if (name.startsWith(STRFTIME)) return strftime(at, name.slice(STRFTIME.length));
  return RENDERERS[name]?.(at) ?? '';
}
