/**
 * The client makes JavaScript dates of dates and timestamps, which lose digits below a millisecond
 * and take wall clocks for times of this machine. Here the dates that it makes keep the bytes of
 * which they were made.
 */
import { createRequire } from 'node:module';
import { ConnectorError } from '../../lib/errors.ts';

interface Moment {
  /** With nine digits of a second. */
  readonly wall: string;
  readonly nanos: string;
}

const MOMENT = Symbol('the moment as the server wrote it');

type ReadDate = (this: unknown, bytes: Buffer, ...more: readonly unknown[]) => Date;

interface Reader {
  parseOracleDate?: ReadDate & { readonly [MOMENT]?: true };
}

/** Has the client keep exact moments from now on. */
export function keepExactMoments(): void {
  let reader: Reader | undefined;
  try {
    const require = createRequire(import.meta.url);
    const handlers = require('oracledb/lib/impl/datahandlers/buffer.js') as {
      readonly BaseBuffer?: { readonly prototype: Reader };
    };
    reader = handlers.BaseBuffer?.prototype;
  } catch (cause) {
    throw unknownVersion(cause);
  }
  const read = reader?.parseOracleDate;
  if (reader === undefined || read === undefined) throw unknownVersion();
  if (read[MOMENT] === true) return;
  const exactly: ReadDate = function (bytes, ...more) {
    return Object.assign(read.call(this, bytes, ...more), { [MOMENT]: momentOf(bytes) });
  };
  reader.parseOracleDate = Object.assign(exactly, { [MOMENT]: true as const });
}

function unknownVersion(cause?: unknown): ConnectorError {
  return new ConnectorError(
    'refused',
    'the installed version of its client (oracledb) is not known: times would lose digits',
    { hint: 'npm install oracledb@26.0.0', ...(cause === undefined ? {} : { cause }) },
  );
}

const CENTURY = 100;
const DATE_BYTES = 7;

function momentOf(bytes: Buffer): Moment {
  const [century = 0, yearOf = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = bytes;
  const year = (century - CENTURY) * CENTURY + (yearOf - CENTURY);
  const nanos = bytes.length > DATE_BYTES ? bytes.readUInt32BE(DATE_BYTES) : 0;
  const two = (value: number): string => String(value).padStart(2, '0');
  const wall = `${String(Math.abs(year)).padStart(4, '0')}-${two(month)}-${two(day)}T${two(hour - 1)}:${two(minute - 1)}:${two(second - 1)}`;
  return { wall: year < 0 ? `${wall} BC` : wall, nanos: String(nanos).padStart(9, '0') };
}

function exactOf(date: Date): Moment {
  const moment = (date as Date & { readonly [MOMENT]?: Moment })[MOMENT];
  if (moment === undefined) throw new Error('cannot happen: a date without its bytes');
  return moment;
}

function withDigits(wall: string, nanos: string, digits: number): string {
  const fraction = digits === 0 ? '' : `.${nanos.slice(0, digits)}`;
  return wall.endsWith(' BC') ? `${wall.slice(0, -3)}${fraction} BC` : wall + fraction;
}

/** A wall clock with so many digits of a second. */
export function wallClock(date: Date, digits: number): string {
  const { wall, nanos } = exactOf(date);
  return withDigits(wall, nanos, digits);
}

/** An instant; the server sends those of zones in UTC. */
export function instant(date: Date, digits: number): string {
  const text = wallClock(date, digits);
  return text.endsWith(' BC') ? text : `${text}Z`;
}

/** An instant that the server sends in its own zone, which the client has taken into account. */
export function localInstant(date: Date, digits: number): string {
  const seconds = 'YYYY-MM-DDTHH:MM:SS'.length;
  return `${withDigits(date.toISOString().slice(0, seconds), exactOf(date).nanos, digits)}Z`;
}
