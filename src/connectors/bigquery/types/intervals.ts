/** Intervals: `1-2 3 4:5:6.789` in BigQuery, ISO 8601 durations in records. */

const CANONICAL = /^(-?)(\d+)-(\d+) (-?\d+) (-?)(\d+):(\d+):(\d+)(?:\.(\d+))?$/;

/** Its own text where it has another form. */
export function isoInterval(text: string): string {
  const found = CANONICAL.exec(text);
  if (found === null) return text;
  const [, monthSign = '', years = '0', months = '0', days = '0', clockSign = ''] = found;
  const [, , , , , , hours = '0', minutes = '0', seconds = '0', fraction = ''] = found;
  const digits = fraction.replace(/0+$/, '');
  const date = [
    part(monthSign, years, 'Y'),
    part(monthSign, months, 'M'),
    part(days.startsWith('-') ? '-' : '', days.replace('-', ''), 'D'),
  ].join('');
  const exact = digits === '' ? seconds : `${seconds}.${digits}`;
  const clock = [
    part(clockSign, hours, 'H'),
    part(clockSign, minutes, 'M'),
    part(clockSign, exact, 'S'),
  ].join('');
  if (date === '' && clock === '') return 'PT0S';
  return `P${date}${clock === '' ? '' : `T${clock}`}`;
}

function part(sign: string, digits: string, unit: string): string {
  return Number(digits) === 0 ? '' : `${sign}${digits.replace(/^0+(?=\d)/, '')}${unit}`;
}

const ISO =
  /^(-?)P(?:(-?\d+)Y)?(?:(-?\d+)M)?(?:(-?\d+)W)?(?:(-?\d+)D)?(?:T(?:(-?\d+)H)?(?:(-?\d+)M)?(?:(-?\d+)(?:\.(\d+))?S)?)?$/;
const [MONTHS, DAYS, MINUTES, SECONDS] = [12n, 7n, 60n, 60n];
const MICRO_DIGITS = 6;
const MICROS = 10n ** BigInt(MICRO_DIGITS);

/** As BigQuery reads it; `undefined` for what is no duration, or has more digits than it holds. */
export function canonicalInterval(text: string): string | undefined {
  if (CANONICAL.test(text)) return text;
  const found = ISO.exec(text);
  if (found === null || /[PT]$/.test(text)) return undefined;
  const sign = found[1] === '-' ? -1n : 1n;
  const [years, months, weeks, days, hours, minutes, seconds] = found
    .slice(2, 9)
    .map((digits) => BigInt(digits ?? 0)) as [
    bigint,
    bigint,
    bigint,
    bigint,
    bigint,
    bigint,
    bigint,
  ];
  const fraction = found[9] ?? '';
  if (/[1-9]/.test(fraction.slice(MICRO_DIGITS))) return undefined;
  const micros = BigInt(fraction.slice(0, MICRO_DIGITS).padEnd(MICRO_DIGITS, '0'));
  const below = found[8]?.startsWith('-') === true ? -micros : micros;
  const clock = ((hours * MINUTES + minutes) * SECONDS + seconds) * MICROS + below;
  return canonicalText({
    months: sign * (years * MONTHS + months),
    days: sign * (weeks * DAYS + days),
    micros: sign * clock,
  });
}

export interface Interval {
  readonly months: bigint;
  readonly days: bigint;
  readonly micros: bigint;
}

/** As an ISO 8601 duration. */
export function intervalOf({ months, days, micros }: Interval): string {
  return isoInterval(canonicalText({ months, days, micros }));
}

function canonicalText({ months, days, micros }: Interval): string {
  return `${monthText(months)} ${days} ${clockText(micros)}`;
}

function monthText(months: bigint): string {
  const [mark, size] = months < 0n ? ['-', -months] : ['', months];
  return `${mark}${size / MONTHS}-${size % MONTHS}`;
}

function clockText(micros: bigint): string {
  const [mark, size] = micros < 0n ? ['-', -micros] : ['', micros];
  const seconds = size / MICROS;
  const rest = size % MICROS;
  const fraction =
    rest === 0n ? '' : `.${String(rest).padStart(MICRO_DIGITS, '0').replace(/0+$/, '')}`;
  const minutes = seconds / SECONDS;
  return `${mark}${minutes / MINUTES}:${minutes % MINUTES}:${seconds % SECONDS}${fraction}`;
}
