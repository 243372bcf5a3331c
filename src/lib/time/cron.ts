/** Cron expressions in a time zone. The library behind them is named in this file only. */
import type { Cron as CronPattern } from 'croner';
import { lazyLibrary } from '../lazy.ts';

const croner = lazyLibrary<typeof import('croner')>('croner');

export interface Cron {
  /** The first tick after a moment; `undefined` when there will be none. */
  next(after: Date): Date | undefined;
}

/** Why a text is no cron expression. */
export interface CronFault {
  readonly fault: string;
  readonly hint?: string;
}

interface Field {
  readonly name: string;
  readonly min: number;
  readonly max: number;
  /** Words for its values, from `min` on. */
  readonly words?: readonly string[];
}

const MONTHS = ['JAN', 'FEB', 'MAR', 'APR', 'MAY', 'JUN', 'JUL', 'AUG', 'SEP', 'OCT', 'NOV', 'DEC'];
const DAYS = ['SUN', 'MON', 'TUE', 'WED', 'THU', 'FRI', 'SAT'];

const SECOND: Field = { name: 'second', min: 0, max: 59 };
const FIELDS: readonly Field[] = [
  { name: 'minute', min: 0, max: 59 },
  { name: 'hour', min: 0, max: 23 },
  { name: 'day of month', min: 1, max: 31 },
  { name: 'month', min: 1, max: 12, words: MONTHS },
  // Sunday is both 0 and 7.
  { name: 'day of week', min: 0, max: 7, words: DAYS },
];

const MACROS: Readonly<Record<string, string>> = {
  '@yearly': '0 0 1 1 *',
  '@annually': '0 0 1 1 *',
  '@monthly': '0 0 1 * *',
  '@weekly': '0 0 * * 0',
  '@daily': '0 0 * * *',
  '@midnight': '0 0 * * *',
  '@hourly': '0 * * * *',
};

/**
 * Five fields, or six with the seconds in front. Times of day are what is written without `*` and
 * steps in seconds, minutes and hours: where clocks are set forward, one that is skipped is the
 * first moment after the gap; where they are set back, one that comes twice counts once. What comes
 * every few minutes or hours goes by the clocks as they are.
 */
export function parseCron(text: string, zone: string): Cron | CronFault {
  const fault = faultOf(text);
  if (fault !== undefined) return fault;
  const { Cron: Pattern } = croner();
  const pattern: CronPattern = new Pattern(text.trim(), {
    timezone: zone,
    paused: true,
    fixedTimeRule: 'no-wildcard',
  });
  return { next: (after) => pattern.nextRun(after) ?? undefined };
}

function faultOf(text: string): CronFault | undefined {
  const trimmed = text.trim();
  if (trimmed.startsWith('@')) {
    const fields = MACROS[trimmed.toLowerCase()];
    return {
      fault: `\`${trimmed}\` is a macro, and only fields are read here`,
      ...(fields === undefined ? {} : { hint: `write \`${fields}\`` }),
    };
  }
  const given = trimmed.split(/\s+/);
  if (given.length !== 5 && given.length !== 6) {
    const hint =
      'minute, hour, day of month, month, day of week; with seconds in front there are 6';
    return {
      fault: `\`${trimmed}\` has ${trimmed === '' ? 0 : given.length} fields instead of 5 or 6`,
      hint,
    };
  }
  const fields = given.length === 6 ? [SECOND, ...FIELDS] : FIELDS;
  for (const [index, field] of fields.entries()) {
    const wrong = fieldFault(given[index] ?? '', field);
    if (wrong !== undefined) return wrong;
  }
  return undefined;
}

const ITEM = /^(?:\*|([A-Za-z0-9]+)(?:-([A-Za-z0-9]+))?)(?:\/(\d+))?$/;

function fieldFault(text: string, field: Field): CronFault | undefined {
  for (const item of text.split(',')) {
    const match = ITEM.exec(item);
    if (match === null) {
      const hint =
        'a field is `*`, a value, a range `1-5`, a step `*/15`, or several of them with commas';
      return { fault: `\`${text}\` cannot be read as ${field.name}`, hint };
    }
    const [, first, last, step] = match;
    const wrong = itemFault({ item, first, last, step }, field);
    if (wrong !== undefined) return { fault: wrong };
  }
  return undefined;
}

interface Item {
  readonly item: string;
  readonly first: string | undefined;
  readonly last: string | undefined;
  readonly step: string | undefined;
}

function itemFault({ item, first, last, step }: Item, field: Field): string | undefined {
  const { name, min, max } = field;
  for (const value of [first, last]) {
    if (value !== undefined && valueOf(value, field) === undefined)
      return `${name} must be ${min} to ${max}, not \`${value}\``;
  }
  if (
    first !== undefined &&
    last !== undefined &&
    Number(valueOf(first, field)) > Number(valueOf(last, field))
  ) {
    return `\`${item}\` ends before it begins`;
  }
  if (step === undefined) return undefined;
  if (Number(step) < 1 || Number(step) > max)
    return `the step of a ${name} must be 1 to ${max}, not \`${item}\``;
  return first !== undefined && last === undefined
    ? `\`${item}\` steps through a single value; write \`${first}-${max}/${step}\``
    : undefined;
}

function valueOf(text: string, { min, max, words = [] }: Field): number | undefined {
  const word = words.indexOf(text.toUpperCase());
  const value = word === -1 ? (/^\d{1,2}$/.test(text) ? Number(text) : Number.NaN) : word + min;
  return value >= min && value <= max ? value : undefined;
}
