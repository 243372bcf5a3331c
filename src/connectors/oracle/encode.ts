/**
 * Values as texts or bytes, and the expressions by which the server converts them to the type of
 * their column. What the server would convert by the settings of a session, or to another value, is
 * refused here.
 */
import { ConnectorError } from '../../lib/errors.ts';
import { isLiteral, literalValue, sourceText } from '../../lib/text/json-literal.ts';
import { stringifyJson, type JsonValue } from '../../lib/text/json.ts';
import { isBase64 } from '../../kit/typed-values.ts';
import { documentOrText } from '../_sql/document-or-text.ts';
import { booleanText, isNumberText, numberText } from '../_sql/value-texts.ts';

export type Encoded = string | Buffer | null;

export interface ColumnType {
  readonly name: string;
  /** As it is written in statements: `NUMBER(10,2)`. */
  readonly type: string;
}

export interface Encoder {
  readonly column: ColumnType;
  readonly isBytes: boolean;
  /** Whether an expression stands around the value, in which the server takes no long ones. */
  readonly isConverted: boolean;
  readonly encode: (value: JsonValue) => Encoded;
  /** The expression of the value in the type of the column, from one for the text. */
  readonly sql: (text: string) => string;
}

const DATE = `'YYYY-MM-DD"T"HH24:MI:SS'`;
const MOMENT = `'YYYY-MM-DD"T"HH24:MI:SS.FF9'`;
const INSTANT = `'YYYY-MM-DD"T"HH24:MI:SS.FF9TZH:TZM'`;

/** `finished`: values are texts that are stored as they are. */
export function encoderFor(column: ColumnType, { isKey = false, finished = false } = {}): Encoder {
  const { name, type } = column;
  const not = (what: string): ConnectorError =>
    new ConnectorError('data', `a value of \`${name}\` (${type}) is not ${what}`, {
      hint: 'correct the value at the source, or convert it with `cast` and `on_error: dlq`',
    });
  const made = (
    encode: (text: string, value: JsonValue) => Encoded | undefined,
    what: string,
    sql?: (text: string) => string,
  ): Encoder => ({
    column,
    isBytes: false,
    isConverted: sql !== undefined,
    sql: sql ?? ((text) => text),
    encode(value) {
      const text = plainText(value);
      if (text === null) return null;
      const encoded = encode(text, value);
      if (encoded === undefined) throw not(what);
      return encoded;
    },
  });
  const bytes = made(
    (text) => (isBase64(text) ? Buffer.from(text, 'base64') : undefined),
    'base64',
  );
  const { base, size } = partsOf(type);
  switch (base) {
    case 'NUMBER':
    case 'FLOAT':
      return made(digitsOf, 'a number', (text) => `TO_NUMBER(${text})`);
    case 'BINARY_FLOAT':
    case 'BINARY_DOUBLE':
      return made(floatOf, 'a number', (text) => `TO_${base}(${text})`);
    case 'BOOLEAN':
      return made(
        (_, value) => booleanText(value),
        'true or false',
        (text) => `TO_BOOLEAN(${text})`,
      );
    case 'DATE':
      return made(
        (text) => momentOf(text)?.slice(0, SECONDS),
        'a date, such as 2024-05-06T07:08:09',
        (text) => `TO_DATE(${text}, ${DATE})`,
      );
    case 'TIMESTAMP':
      return made(
        momentOf,
        'a time, such as 2024-05-06T07:08:09',
        (text) => `TO_TIMESTAMP(${text}, ${MOMENT})`,
      );
    case 'TIMESTAMP WITH TIME ZONE':
    case 'TIMESTAMP WITH LOCAL TIME ZONE':
      return made(
        instantOf,
        'a time, such as 2024-05-06T07:08:09Z',
        (text) => `TO_TIMESTAMP_TZ(${text}, ${INSTANT})`,
      );
    case 'INTERVAL YEAR TO MONTH':
      return made(monthsOf, 'a duration, such as P2Y3M', (text) => `TO_YMINTERVAL(${text})`);
    case 'INTERVAL DAY TO SECOND':
      return made(secondsOf, 'a duration, such as P1DT2H', (text) => `TO_DSINTERVAL(${text})`);
    case 'RAW':
    case 'BLOB':
    case 'LONG RAW':
      return { ...bytes, isBytes: true };
    case 'JSON':
      return made(
        (text, value) =>
          finished ? text : (sourceText(value) ?? documentOrText(value) ?? undefined),
        'JSON',
        (text) => `JSON(${text})`,
      );
    case 'ROWID':
    case 'UROWID':
      return made(
        (text) => text,
        'a row id',
        (text) => `CHARTOROWID(${text})`,
      );
    case 'CHAR':
    case 'NCHAR':
      // Blanks at the end of a key are those of its column.
      return isKey
        ? made(keyOf, KEY, (text) => `RPAD(${text}, ${size})`)
        : made((text) => text, 'a text');
    default:
      return made(isKey ? keyOf : (text) => text, KEY);
  }
}

const KEY = 'a key: an empty text is null in Oracle';

function keyOf(text: string): string | undefined {
  return text === '' ? undefined : text;
}

/** `TIMESTAMP(6) WITH TIME ZONE` is `TIMESTAMP WITH TIME ZONE` of size 6. */
export function partsOf(type: string): { readonly base: string; readonly size: number } {
  const [, size = '0'] = /\((\d+)/.exec(type) ?? [];
  return { base: type.replaceAll(/ ?\([^)]*\)/g, '').trim(), size: Number(size) };
}

function plainText(value: JsonValue): string | null {
  if (value === null || typeof value === 'string') return value;
  if (typeof value === 'object')
    return isLiteral(value) ? plainText(literalValue(value)) : stringifyJson(value);
  return Object.is(value, -0) ? '-0' : String(value);
}

function digitsOf(text: string, value: JsonValue): string | undefined {
  const truth = /^(?:true|false)$/i.test(text) ? booleanText(text) : undefined;
  if (truth !== undefined) return truth === 'true' ? '1' : '0';
  const digits = typeof value === 'number' ? numberText(value) : text.trim().replace(/^\+/, '');
  return isNumberText(digits) ? digits : undefined;
}

const NOT_FINITE: Readonly<Record<string, string>> = {
  NaN: 'NaN',
  Infinity: 'Inf',
  '-Infinity': '-Inf',
};

function floatOf(text: string, value: JsonValue): string | undefined {
  return NOT_FINITE[text] ?? (typeof value === 'number' ? text : digitsOf(text, value));
}

const WRITTEN =
  /^(\d{4}-\d{2}-\d{2})(?:[T ](\d{2}:\d{2})(?::(\d{2}))?(?:\.(\d+))?\s?(Z|[+-]\d{2}(?::?\d{2})?)?)?$/i;
const SECONDS = 'YYYY-MM-DDTHH:MM:SS'.length;
const NANOS = 9;

interface Parts {
  readonly seconds: string;
  readonly fraction: string;
  /** `+02:00`; absent for a wall clock. */
  readonly zone?: string;
}

function partsOfMoment(text: string): Parts | undefined {
  const [match, day, clock = '00:00', second = '00', fraction = '', zone] =
    WRITTEN.exec(text.trim()) ?? [];
  if (match === undefined) return undefined;
  return {
    seconds: `${day}T${clock}:${second}`,
    fraction: `.${fraction.slice(0, NANOS).padEnd(NANOS, '0')}`,
    ...(zone === undefined ? {} : { zone: offsetOf(zone) }),
  };
}

function offsetOf(zone: string): string {
  if (/^z$/i.test(zone)) return '+00:00';
  const digits = zone.replace(':', '').padEnd('+HHMM'.length, '0');
  return `${digits.slice(0, 3)}:${digits.slice(3)}`;
}

/** A wall clock; instants are those of UTC. */
function momentOf(text: string): string | undefined {
  const parts = partsOfMoment(text);
  if (parts === undefined) return undefined;
  const { seconds, fraction, zone } = parts;
  if (zone === undefined || zone === '+00:00') return seconds + fraction;
  const moment = new Date(`${seconds}${zone}`);
  return Number.isNaN(moment.getTime())
    ? undefined
    : `${moment.toISOString().slice(0, SECONDS)}${fraction}`;
}

function instantOf(text: string): string | undefined {
  const parts = partsOfMoment(text);
  return parts && `${parts.seconds}${parts.fraction}${parts.zone ?? '+00:00'}`;
}

const DURATION =
  /^(-?)P(?:(-?\d+)Y)?(?:(-?\d+)M)?(?:(-?\d+)D)?(?:T(?:(-?\d+)H)?(?:(-?\d+)M)?(?:(-?\d+)(?:\.(\d{1,9}))?S)?)?$/;

interface Duration {
  readonly sign: string;
  readonly months: number;
  readonly seconds: bigint;
  readonly fraction: string;
}

const MONTHS = 12;
const MINUTE = 60n;
const HOUR = 3600n;
const DAY = 86_400n;

/** `undefined` where the parts have different signs, or there is none. */
function durationOf(text: string): Duration | undefined {
  const [match, minus = '', ...parts] = DURATION.exec(text.trim()) ?? [];
  if (match === undefined || /[PT]$/.test(match)) return undefined;
  const [years, months, days, hours, minutes, seconds, fraction = ''] = parts;
  const signs = new Set(
    [years, months, days, hours, minutes, `${seconds ?? '0'}.${fraction}`]
      .filter((one) => one !== undefined && /[1-9]/.test(one))
      .map((one) => one?.startsWith('-')),
  );
  if (signs.size > 1) return undefined;
  const isNegative = (minus === '-') !== signs.has(true);
  const size = (one = '0'): bigint => BigInt(one.replace('-', ''));
  return {
    sign: isNegative ? '-' : '+',
    months: Number(size(years)) * MONTHS + Number(size(months)),
    seconds: size(days) * DAY + size(hours) * HOUR + size(minutes) * MINUTE + size(seconds),
    fraction: fraction.padEnd(NANOS, '0'),
  };
}

function monthsOf(text: string): string | undefined {
  const duration = durationOf(text);
  if (duration === undefined || duration.seconds !== 0n || /[1-9]/.test(duration.fraction))
    return undefined;
  const { sign, months } = duration;
  return `${sign}${String(Math.trunc(months / MONTHS)).padStart(2, '0')}-${String(months % MONTHS).padStart(2, '0')}`;
}

function secondsOf(text: string): string | undefined {
  const duration = durationOf(text);
  if (duration === undefined || duration.months !== 0) return undefined;
  const { sign, seconds, fraction } = duration;
  const two = (value: bigint): string => String(value).padStart(2, '0');
  return `${sign}${two(seconds / DAY)} ${two((seconds % DAY) / HOUR)}:${two((seconds % HOUR) / MINUTE)}:${two(seconds % MINUTE)}.${fraction}`;
}
