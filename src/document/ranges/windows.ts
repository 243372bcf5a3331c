/**
 * A span of time cut into windows: chunks of a `partition` and units of a `backfill`.
 */
import type { DateTime } from 'luxon';
import { luxon } from '../../lib/lazy.ts';
import type { JsonObject } from '../../lib/text/json.ts';
import { parseDuration, secondsOf } from '../../lib/time/duration.ts';
import { isCalendarDate, parseRfc3339 } from '../../lib/time/rfc3339.ts';
import { rfc3339 } from '../tokens/now-tokens.ts';
import { strftime } from '../tokens/strftime.ts';

export interface SpanSpec {
  /** RFC 3339, or a date for its midnight in the zone. */
  readonly from: string;
  /** Not part of the span. */
  readonly to: string;
  /** Size of a window; the whole span is one without. */
  readonly window: string | number | undefined;
  readonly timezone: string;
}

export interface Window {
  /** The start in UTC, as `YYYYMMDDTHHMMSSZ`. */
  readonly id: string;
  readonly start: DateTime;
  /** Where the next one begins. */
  readonly end: DateTime;
}

/** What `windowTokens` gives. */
export const WINDOW_TOKENS = [
  'start',
  'end',
  'start_date',
  'end_date',
  'start_unix',
  'end_unix',
] as const;

const MAX_STEP = 999_999_999;

type Step = { readonly days: number } | { readonly seconds: number };

/** Reads the length of a window; days and weeks are those of the calendar, not 24 hours each. */
export function parseWindow(text: string | number): Step | undefined {
  const parsed = parseDuration(text);
  if (parsed === undefined) return undefined;
  const { amount, unit } = parsed;
  if (!Number.isInteger(amount) || amount === 0 || amount > MAX_STEP) return undefined;
  if (unit === 'd' || unit === 'w') return { days: unit === 'w' ? amount * 7 : amount };
  return { seconds: secondsOf(parsed) };
}

/**
 * A date is its midnight in the zone, or the first moment of the day where there is no midnight.
 */
export function parseBound(text: string, zone: string): DateTime | undefined {
  const { DateTime: Time } = luxon();
  if (isDay(text)) return earliest(Time.fromISO(text, { zone }));
  const instant = parseRfc3339(text);
  return instant === undefined ? undefined : Time.fromJSDate(instant, { zone });
}

function isDay(text: string): boolean {
  return /^\d{4}-\d{2}-\d{2}$/.test(text) && isCalendarDate(text);
}

/**
 * At most so many windows, each beginning where the last one ends; the last is cut off at `to`.
 * Bounds and window must be readable.
 */
export function cutSpan(
  span: SpanSpec,
  most: number,
): { readonly windows: readonly Window[] } | { readonly fault: 'empty' | 'too many' } {
  const [from, to] = [parseBound(span.from, span.timezone), parseBound(span.to, span.timezone)];
  const step = span.window === undefined ? undefined : parseWindow(span.window);
  if (from === undefined || to === undefined || (span.window !== undefined && step === undefined)) {
    throw new Error('cannot happen: the span was checked');
  }
  if (from >= to) return { fault: 'empty' };
  const starts = step === undefined ? [from] : startsOf({ from, to }, step, most);
  if (starts.length > most) return { fault: 'too many' };
  return {
    windows: starts.map((start, index) => ({
      id: idOf(start),
      start,
      end: starts[index + 1] ?? to,
    })),
  };
}

/** One more than the most that are possible, where there are too many. */
function startsOf(
  { from, to }: { readonly from: DateTime; readonly to: DateTime },
  step: Step,
  most: number,
): DateTime[] {
  const starts = [from];
  for (let index = 1; starts.length <= most; index += 1) {
    const start =
      'days' in step
        ? earliest(from.plus({ days: index * step.days }))
        : from.plus({ seconds: index * step.seconds });
    if (start >= to) break;
    // A zone that skipped a whole day has two starts at one moment.
    const before = starts.at(-1);
    if (before === undefined || start > before) starts.push(start);
  }
  return starts;
}

function idOf(start: DateTime): string {
  return strftime(start.toUTC(), '%Y%m%dT%H%M%SZ');
}

export function windowTokens({ start, end }: Window): JsonObject {
  const day = '%Y-%m-%d';
  return {
    start: rfc3339(start),
    end: rfc3339(end),
    start_date: strftime(start, day),
    end_date: strftime(end, day),
    start_unix: Math.floor(start.toSeconds()),
    end_unix: Math.floor(end.toSeconds()),
  };
}

/** Of a time that a clock shows twice, the first. */
function earliest(at: DateTime): DateTime {
  return at.getPossibleOffsets().reduce((first, other) => (other < first ? other : first), at);
}
