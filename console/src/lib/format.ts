/** How numbers and times read. */
const COUNT = new Intl.NumberFormat('en-US');
const COMPACT = new Intl.NumberFormat('en-US', { notation: 'compact', maximumFractionDigits: 1 });
const DAY = new Intl.DateTimeFormat('en-GB', {
  year: 'numeric',
  month: 'short',
  day: '2-digit',
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
});
const CLOCK = new Intl.DateTimeFormat('en-GB', {
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
});

export function count(value: number): string {
  return COUNT.format(value);
}

export function compact(value: number): string {
  return COMPACT.format(value);
}

/** In the time zone of the reader. */
export function fullTime(iso: string | null | undefined): string {
  const date = dateOf(iso);
  return date === undefined ? '–' : DAY.format(date);
}

/** Only the clock, where the day is today. */
export function shortTime(iso: string | null | undefined): string {
  const date = dateOf(iso);
  if (date === undefined) return '–';
  return date.toDateString() === new Date().toDateString()
    ? CLOCK.format(date)
    : DAY.format(date).replace(/:\d\d$/, '');
}

export function clockTime(iso: string): string {
  const date = dateOf(iso);
  return date === undefined ? '' : CLOCK.format(date);
}

function dateOf(iso: string | null | undefined): Date | undefined {
  if (iso === null || iso === undefined) return undefined;
  const date = new Date(iso);
  return Number.isNaN(date.getTime()) ? undefined : date;
}

/** `820 ms`, `4.2 s`, `3 min 05 s`, `2 h 07 min`. */
export function duration(seconds: number | null | undefined): string {
  if (seconds === null || seconds === undefined) return '–';
  if (seconds < 1) return `${Math.round(seconds * 1000)} ms`;
  if (seconds < 60) return `${seconds.toFixed(1)} s`;
  const whole = Math.round(seconds);
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${two(whole % 60)} s`;
  const minutes = Math.floor(whole / 60);
  if (minutes < 2 * 24 * 60) return `${Math.floor(minutes / 60)} h ${two(minutes % 60)} min`;
  return `${Math.floor(minutes / (24 * 60))} d ${Math.floor(minutes / 60) % 24} h`;
}

function two(value: number): string {
  return String(value).padStart(2, '0');
}

/** `in 4 min`, `12 s ago`. */
export function fromNow(iso: string | null | undefined, now = Date.now()): string {
  const date = dateOf(iso);
  if (date === undefined) return '–';
  const seconds = (date.getTime() - now) / 1000;
  const text = roughly(Math.abs(seconds));
  return seconds > 0 ? `in ${text}` : `${text} ago`;
}

function roughly(seconds: number): string {
  if (seconds < 90) return `${Math.round(seconds)} s`;
  if (seconds < 90 * 60) return `${Math.round(seconds / 60)} min`;
  if (seconds < 36 * 3600) return `${Math.round(seconds / 3600)} h`;
  return `${Math.round(seconds / 86_400)} d`;
}
