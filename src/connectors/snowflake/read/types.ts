/** What the columns of a result are in records: their logical types, and their values. */
import {
  orderOf,
  UNKNOWN_SCHEMA,
  type RecordField,
  type RecordSchema,
  type RecordType,
  type TimeUnit,
} from '../../../kit/record-schema.ts';
import type { JsonValue } from '../../../lib/text/json.ts';
import { float, integer, jsonDecoder } from '../../_sql/value-decoders.ts';
import type { ColumnInfo } from '../session/session.ts';

type Decode = (text: string) => JsonValue;

interface Known {
  /** Absent for whole numbers that are larger than any type of integers. */
  readonly type?: RecordType;
  readonly decode: Decode;
}

export interface ResultColumn {
  readonly name: string;
  /** As in a statement: `NUMBER(38,0)`. */
  readonly typeName: string;
  readonly field: RecordField | undefined;
  readonly decode: Decode;
}

export function resultColumns(columns: readonly ColumnInfo[]): readonly ResultColumn[] {
  return columns.map((column) => {
    const { type, decode } = knownType(column);
    const { name, nullable } = column;
    return {
      name,
      typeName: typeName(column),
      field:
        type === undefined ? undefined : { name, type, nullable: nullable || type.kind === 'json' },
      decode,
    };
  });
}

/** Where a column may hold larger integers than there is a type for, it is left out. */
export function schemaOf(columns: readonly ResultColumn[]): RecordSchema {
  const fields = columns.flatMap(({ field }) => field ?? []);
  if (fields.length === columns.length) return { fields };
  const names = columns.map(({ name }) => name);
  return orderOf(names, fields) ?? UNKNOWN_SCHEMA;
}

function typeName({ type, precision, scale }: ColumnInfo): string {
  return type === 'fixed' ? `NUMBER(${precision ?? 38},${scale ?? 0})` : type.toUpperCase();
}

/** Digits of which every number is one of 64 bits. */
const INT64_DIGITS = 18;
const MOST_NANOS = 9;

function knownType({ name, type, precision = 38, scale }: ColumnInfo): Known {
  switch (type) {
    case 'fixed':
      return fixed(precision, scale ?? 0);
    case 'real':
      return { type: { kind: 'float64' }, decode: float };
    case 'decfloat':
      return { type: { kind: 'decimal' }, decode: plain };
    case 'boolean':
      return { type: { kind: 'bool' }, decode: (text) => /^(?:true|1)$/i.test(text) };
    case 'date':
      return { type: { kind: 'date' }, decode: day };
    case 'time':
      return { type: { kind: 'time' }, decode: clock };
    case 'timestamp_ntz':
      return { type: timestamp(scale), decode: (text) => moment(text) };
    case 'timestamp_ltz':
    case 'timestamp_tz':
      // The offset behind the moment of `timestamp_tz` says in which zone somebody wrote it.
      return {
        type: { ...timestamp(scale), zone: 'UTC' },
        decode: (text) => `${moment(text.split(' ')[0] ?? '')}Z`,
      };
    case 'binary':
      return {
        type: { kind: 'binary' },
        decode: (text) => Buffer.from(text, 'hex').toString('base64'),
      };
    case 'variant':
    case 'object':
    case 'array':
    case 'map':
    case 'vector':
    case 'geography':
    case 'geometry':
      return { type: { kind: 'json' }, decode: documentDecoder(name) };
    default:
      return { type: { kind: 'utf8' }, decode: plain };
  }
}

function fixed(precision: number, scale: number): Known {
  if (scale > 0) return { type: { kind: 'decimal', precision, scale }, decode: plain };
  return precision <= INT64_DIGITS
    ? { type: { kind: 'int64' }, decode: integer }
    : { decode: integer };
}

function plain(text: string): string {
  return text;
}

const DAY_MS = 86_400_000;
const ISO_DAY = 10;
const EXTENDED_DAY = 13;

function dayText(days: number): string {
  const text = new Date(days * DAY_MS).toISOString();
  return text.slice(0, /^[+-]/.test(text) ? EXTENDED_DAY : ISO_DAY);
}

function day(text: string): string {
  return dayText(Number(text));
}

const DAY_SECS = 86_400n;

/** Seconds and their fraction, of a clock: `82919.500000000`. */
function clock(text: string): string {
  const [seconds = '0', fraction = ''] = text.split('.');
  return timeText(BigInt(seconds), fraction);
}

function timeText(seconds: bigint, fraction: string): string {
  const two = (number: bigint): string => String(number).padStart(2, '0');
  const digits = fraction.replace(/0+$/, '');
  const time = `${two(seconds / 3600n)}:${two((seconds / 60n) % 60n)}:${two(seconds % 60n)}`;
  return digits === '' ? time : `${time}.${digits}`;
}

/** Seconds since 1970 and their fraction: `1714979289.500000000`, before it `-0.500000000`. */
function moment(text: string): string {
  const isNegative = text.startsWith('-');
  const [whole = '0', fraction = ''] = text.replace('-', '').split('.');
  let seconds = BigInt(whole);
  let nanos = BigInt(fraction.slice(0, MOST_NANOS).padEnd(MOST_NANOS, '0'));
  if (isNegative) {
    seconds = -seconds;
    if (nanos > 0n) {
      seconds -= 1n;
      nanos = 1_000_000_000n - nanos;
    }
  }
  const inDay = ((seconds % DAY_SECS) + DAY_SECS) % DAY_SECS;
  const days = dayText(Number((seconds - inDay) / DAY_SECS));
  return `${days}T${timeText(inDay, String(nanos).padStart(MOST_NANOS, '0'))}`;
}

const UNIT: readonly (readonly [number, TimeUnit])[] = [
  [0, 's'],
  [3, 'ms'],
  [6, 'us'],
];

function timestamp(scale = MOST_NANOS) {
  const unit = UNIT.find(([digits]) => scale <= digits)?.[1] ?? 'ns';
  return { kind: 'timestamp', unit } as const;
}

/** A list of this database may have places without a value, which it writes as `undefined`. */
const NO_VALUE = /"(?:[^"\\]|\\.)*"|\bundefined\b/g;

function documentDecoder(column: string): Decode {
  const decode = jsonDecoder({ column, bigNumbers: 'string', isRespelled: () => false });
  return (text) =>
    decode(
      text.includes('undefined')
        ? text.replaceAll(NO_VALUE, (found) => (found === 'undefined' ? 'null' : found))
        : text,
    );
}
