/**
 * Splits a time range into the units of a backfill, for `headgate backfill` and `POST
 * /v1/backfill`.
 */
import type { DateTime } from 'luxon';
import { rfc3339 } from '../../document/tokens/now-tokens.ts';
import {
  cutSpan,
  parseBound,
  parseWindow,
  windowTokens,
  type Window,
} from '../../document/ranges/windows.ts';
import { isZone } from '../../document/tokens/strftime.ts';
import { RefusedError } from '../../lib/errors.ts';
import type { JsonObject } from '../../lib/text/json.ts';
import { fnv1a64 } from '../../lib/text/fnv.ts';

/** Units of one backfill. */
export const MAX_UNITS = 10_000;
/** More units than this are logged as a warning. */
export const MANY_UNITS = 1000;

export interface RangeSpec {
  /** RFC 3339, or a date for its midnight in the zone. */
  readonly from: string;
  /** Not part of the range. */
  readonly to: string;
  /** Without it, the whole range is one unit. */
  readonly window: string | number | undefined;
  readonly timezone: string;
}

export interface BackfillUnit {
  /** The start in UTC, as `YYYYMMDDTHHMMSSZ`. */
  readonly id: string;
  readonly startsAt: Date;
  /** RFC 3339 in the zone. */
  readonly start: string;
  readonly end: string;
  /** Values of `${backfill.<name>}`. */
  readonly tokens: JsonObject;
}

export interface BackfillPlan {
  /** Identifies the backfill: `time|from|to|window|name`. */
  readonly descriptor: string;
  /** Of the descriptor. */
  readonly hash: string;
  readonly timezone: string;
  readonly units: readonly BackfillUnit[];
}

/** `name`: what is run again. Throws `RefusedError` (`bad_config`). */
export function planUnits(range: RangeSpec, name: string): BackfillPlan {
  const { timezone, window } = range;
  if (!isZone(timezone))
    throw refuse(
      `timezone: \`${timezone}\` is not a time zone`,
      'use an IANA name such as `Europe/Oslo`',
    );
  const [from, to] = [boundOf('from', range), boundOf('to', range)];
  if (window !== undefined && parseWindow(window) === undefined) {
    throw refuse(
      `window: \`${window}\` is not a span of time greater than 0`,
      'e.g. `1d`, `6h` or a number of seconds',
    );
  }
  const result = cutSpan(range, MAX_UNITS);
  if ('fault' in result) {
    if (result.fault === 'empty')
      throw refuse(
        `there is nothing between \`from\` (${range.from}) and \`to\` (${range.to})`,
        '`to` is the first moment after the range',
      );
    throw refuse(
      `the range has more than ${MAX_UNITS} units`,
      'make the window larger, or the range shorter',
    );
  }
  const descriptor = ['time', rfc3339(from), rfc3339(to), windowLabel(window), name].join('|');
  return { descriptor, hash: fnv1a64(descriptor), timezone, units: result.windows.map(unitOf) };
}

function boundOf(key: 'from' | 'to', { timezone, ...range }: RangeSpec): DateTime {
  const bound = parseBound(range[key], timezone);
  if (bound !== undefined) return bound;
  throw refuse(
    `${key}: \`${range[key]}\` is neither a date nor an RFC 3339 time`,
    'e.g. `2026-01-31` or `2026-01-31T00:00:00Z`',
  );
}

function unitOf(window: Window): BackfillUnit {
  const tokens = windowTokens(window);
  return {
    id: window.id,
    startsAt: window.start.toJSDate(),
    start: rfc3339(window.start),
    end: rfc3339(window.end),
    tokens: { ...tokens, unit: window.id },
  };
}

/** Windows of the same length get the same label. */
function windowLabel(window: string | number | undefined): string {
  const step = window === undefined ? undefined : parseWindow(window);
  if (step === undefined) return 'whole';
  return 'days' in step ? String(window) : String(step.seconds);
}

export function refuse(message: string, hint: string): RefusedError {
  return new RefusedError('bad_config', message, { hint });
}
