/** Moments that are told as microseconds. */

const MICROS = 1_000_000n;
const MICRO_DIGITS = 6;

/** An instant in UTC, of microseconds since 1970. */
export function instantText(micros: bigint): string {
  return `${wallClockText(micros)}Z`;
}

export function wallClockText(micros: bigint): string {
  const inSecond = ((micros % MICROS) + MICROS) % MICROS;
  const seconds = (micros - inSecond) / MICROS;
  const moment = new Date(Number(seconds) * 1000).toISOString().replace(/\.\d+Z$/, '');
  const digits = String(inSecond).padStart(MICRO_DIGITS, '0').replace(/0+$/, '');
  return `${moment}${digits === '' ? '' : `.${digits}`}`;
}

/** Of microseconds since midnight. */
export function timeOfDayText(micros: bigint): string {
  return wallClockText(micros).slice('1970-01-01T'.length);
}
