import type { NumberKind } from './number-formats.ts';

const MS_A_DAY = 86_400_000;
/** Excel counts 1900-02-29, which did not exist, to be compatible with older programs. */
const FALSE_LEAP_DAY = 60;
const FIRST_OF_1900 = Date.UTC(1899, 11, 31);
const FIRST_OF_1904 = Date.UTC(1904, 0, 1);
const END = Date.UTC(10_000, 0, 1);

/**
 * The ISO 8601 text of a number of days, to the millisecond; `undefined` when the number is no such
 * date, which Excel shows as `####`.
 */
export function serialText(
  serial: number,
  kind: Exclude<NumberKind, 'number'>,
  is1904: boolean,
): string | undefined {
  const ms = Math.round(serial * MS_A_DAY);
  if (kind === 'duration') return durationText(ms);
  if (ms < 0 || !Number.isSafeInteger(ms)) return undefined;
  const day = Math.floor(ms / MS_A_DAY);
  const inDay = ms - day * MS_A_DAY;
  // A number below 1 is a time without a day, whatever the format would show.
  if (day === 0 && (kind === 'time' || (!is1904 && inDay > 0))) return timeText(inDay);
  if (is1904) return dateText(FIRST_OF_1904 + ms);
  if (day === FALSE_LEAP_DAY)
    return `1900-02-29T${new Date(inDay).toISOString().slice('1970-01-01T'.length)}`;
  return dateText(FIRST_OF_1900 + (day < FALSE_LEAP_DAY ? ms : ms - MS_A_DAY));
}

function dateText(time: number): string | undefined {
  return time < END ? new Date(time).toISOString() : undefined;
}

function timeText(ms: number): string {
  return new Date(ms)
    .toISOString()
    .slice('1970-01-01T'.length, -1)
    .replace(/\.000$/, '');
}

function durationText(ms: number): string {
  const rest = Math.abs(ms);
  const hours = Math.floor(rest / 3_600_000);
  const minutes = Math.floor(rest / 60_000) % 60;
  const seconds = (rest % 60_000) / 1000;
  const parts = [
    hours === 0 ? '' : `${hours}H`,
    minutes === 0 ? '' : `${minutes}M`,
    seconds === 0 ? '' : `${seconds}S`,
  ].join('');
  return `${ms < 0 ? '-' : ''}PT${parts === '' ? '0S' : parts}`;
}
