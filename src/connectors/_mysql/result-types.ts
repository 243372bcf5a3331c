/** The columns of a result: their logical types, and how the text of their values is read. */
import type { RecordField, RecordType } from '../../kit/record-schema.ts';
import type { JsonValue } from '../../lib/text/json.ts';
import type { FieldForm } from '../../fast/copy-text/copy-text-writer.ts';
import type { TextColumn } from '../_sql/copy-text/text-pages.ts';
import { integer, isNotCompact, jsonDecoder, type BigNumbers } from '../_sql/value-decoders.ts';

export const SYSTEM = 'mysql';

/** What the server says of a column. */
export interface ColumnInfo {
  readonly name: string;
  readonly columnType: number;
  readonly flags: number;
  readonly columnLength: number;
  readonly decimals: number;
  readonly characterSet: number;
  /** MariaDB names types that it sends as texts: `uuid`, `inet6`. */
  readonly extendedTypeName?: string;
  readonly extendedFormat?: string;
}

/**
 * How a value of the text protocol becomes text of ours: as it is, as base64, as an instant in UTC, a
 * truth value (of a digit or of a bit), or the number that bits spell.
 */
export type ValueForm = 'text' | 'bytes' | 'instant' | 'truth' | 'bit' | 'bits';

export interface MysqlColumn {
  readonly name: string;
  readonly value: ValueForm;
  readonly form: FieldForm;
  readonly decode: (text: string) => JsonValue;
  /** The same for bookmarks: a number that no double holds is its text. */
  readonly exact: (text: string) => JsonValue;
  readonly field: RecordField;
  /** Digits of a second. */
  readonly fraction: number;
  /** One value can have several texts. */
  readonly isLoose: boolean;
  readonly isFloat: boolean;
}

export const TYPE = {
  decimal: 0,
  tiny: 1,
  short: 2,
  long: 3,
  float: 4,
  double: 5,
  timestamp: 7,
  bigint: 8,
  medium: 9,
  date: 10,
  time: 11,
  datetime: 12,
  year: 13,
  newDate: 14,
  bit: 16,
  json: 245,
  newDecimal: 246,
  string: 254,
  geometry: 255,
} as const;

const UNSIGNED = 32;
const ZEROFILL = 64;
const ENUM = 256;
const SET = 2048;
const BINARY_CHARSET = 63;
/** Bytes of one letter in utf8mb4. */
const LETTER = 4;
/** Longer ones could make a row too large for a table. */
const LONGEST_VARCHAR = 255;

interface Known {
  readonly type: RecordType;
  readonly native?: string;
  readonly value?: ValueForm;
  readonly form?: FieldForm;
  readonly decode?: (text: string) => JsonValue;
  readonly isLoose?: boolean;
}

export function columnOf(info: ColumnInfo, bigNumbers: BigNumbers): MysqlColumn {
  const known = knownType(info, bigNumbers);
  const { name, columnType, decimals } = info;
  return {
    name,
    value: known.value ?? 'text',
    form: known.form ?? 'text',
    decode: known.decode ?? asItIs,
    exact: knownType(info, 'string').decode ?? asItIs,
    field: {
      name,
      type: known.type,
      nullable: true,
      ...(known.native === undefined ? {} : { native: { system: SYSTEM, name: known.native } }),
    },
    fraction: TIMES.has(columnType) && decimals <= MOST_FRACTION ? decimals : 0,
    isLoose: known.isLoose ?? false,
    isFloat: columnType === TYPE.float,
  };
}

/** The column as bookmarks read it. */
export function exactColumn({ name, exact }: MysqlColumn): TextColumn {
  return { name, decode: exact };
}

function asItIs(text: string): string {
  return text;
}

const MOST_FRACTION = 6;
const TIMES: ReadonlySet<number> = new Set([TYPE.time, TYPE.datetime, TYPE.timestamp]);

const INTEGERS: Readonly<Record<number, readonly [name: string, bits: 8 | 16 | 32 | 64]>> = {
  [TYPE.tiny]: ['tinyint', 8],
  [TYPE.short]: ['smallint', 16],
  [TYPE.medium]: ['mediumint', 32],
  [TYPE.long]: ['int', 32],
  [TYPE.bigint]: ['bigint', 64],
};

function knownType(info: ColumnInfo, bigNumbers: BigNumbers): Known {
  const { columnType, columnLength, extendedFormat, name } = info;
  if (INTEGERS[columnType] !== undefined) return integerType(info);
  if (columnType === TYPE.json || extendedFormat === 'json') return jsonType(name, bigNumbers);
  switch (columnType) {
    case TYPE.float:
    case TYPE.double:
      return floatType(columnType);
    case TYPE.decimal:
    case TYPE.newDecimal:
      return decimalType(info);
    case TYPE.year:
      return { type: { kind: 'int16' }, native: 'year', form: 'decoded', decode: Number };
    case TYPE.bit:
      return bitType(columnLength);
    case TYPE.date:
    case TYPE.newDate:
      return { type: { kind: 'date' }, native: 'date' };
    case TYPE.time:
    case TYPE.datetime:
    case TYPE.timestamp:
      return timeType(info);
    case TYPE.geometry:
      return { type: { kind: 'binary' }, native: 'geometry', value: 'bytes' };
    default:
      return textType(info);
  }
}

/** `tinyint(1)` is the boolean of this system. */
function integerType({ columnType, columnLength, flags }: ColumnInfo): Known {
  if (columnType === TYPE.tiny && columnLength === 1)
    return {
      type: { kind: 'bool' },
      native: 'tinyint(1)',
      value: 'truth',
      form: 'bool',
      decode: (text) => text === 't',
    };
  const [name, bits] = INTEGERS[columnType] ?? ['bigint', 64];
  const isUnsigned = (flags & UNSIGNED) !== 0;
  return {
    type: { kind: `${isUnsigned ? 'u' : ''}int${bits}` as 'int8' },
    native: isUnsigned ? `${name} unsigned` : name,
    // Zeros before a number are not JSON.
    form: (flags & ZEROFILL) === 0 ? 'bare' : 'decoded',
    decode: integer,
  };
}

function floatType(columnType: number): Known {
  return {
    type: { kind: columnType === TYPE.float ? 'float32' : 'float64' },
    native: columnType === TYPE.float ? 'float' : 'double',
    form: 'float',
    decode: Number,
    isLoose: true,
  };
}

/** The length counts the point and the sign. */
function decimalType({ columnLength, decimals, flags }: ColumnInfo): Known {
  const isUnsigned = (flags & UNSIGNED) !== 0;
  const precision = columnLength - (decimals > 0 ? 1 : 0) - (isUnsigned ? 0 : 1);
  return {
    type: { kind: 'decimal', precision, scale: decimals },
    native: `decimal(${precision},${decimals})${isUnsigned ? ' unsigned' : ''}`,
    isLoose: true,
  };
}

function bitType(length: number): Known {
  if (length === 1)
    return {
      type: { kind: 'bool' },
      native: 'bit(1)',
      value: 'bit',
      form: 'bool',
      decode: (text) => text === 't',
    };
  return {
    type: { kind: 'uint64' },
    native: `bit(${length})`,
    value: 'bits',
    form: 'bare',
    decode: integer,
  };
}

/** The zone of the session is UTC. */
function timeType({ columnType, decimals }: ColumnInfo): Known {
  const digits = decimals > 0 && decimals <= MOST_FRACTION ? `(${decimals})` : '';
  if (columnType === TYPE.time) return { type: { kind: 'time' }, native: `time${digits}` };
  return {
    type: { kind: 'timestamp', unit: 'us', zone: 'UTC' },
    native: `${columnType === TYPE.datetime ? 'datetime' : 'timestamp'}${digits}`,
    value: 'instant',
  };
}

function jsonType(column: string, bigNumbers: BigNumbers): Known {
  return {
    type: { kind: 'json' },
    native: 'json',
    form: 'json',
    decode: jsonDecoder({ column, bigNumbers, isRespelled: isNotCompact }),
    isLoose: true,
  };
}

function textType(info: ColumnInfo): Known {
  const { columnType, columnLength, characterSet, extendedTypeName, flags } = info;
  if (extendedTypeName === 'uuid') return { type: { kind: 'uuid' }, native: 'uuid' };
  if (extendedTypeName !== undefined && /^inet\d$/.test(extendedTypeName))
    return { type: { kind: 'utf8' }, native: extendedTypeName };
  const isFixed = columnType === TYPE.string;
  if (characterSet === BINARY_CHARSET) {
    const isBlob = columnLength > LONGEST_VARCHAR || isBlobType(columnType);
    const native = isBlob ? 'longblob' : `${isFixed ? 'binary' : 'varbinary'}(${columnLength})`;
    return { type: { kind: 'binary' }, native, value: 'bytes' };
  }
  // The values that such a column may hold are not told here.
  if ((flags & (ENUM | SET)) !== 0) return { type: { kind: 'utf8' } };
  const letters = Math.ceil(columnLength / LETTER);
  const isLong = letters > LONGEST_VARCHAR || letters === 0 || isBlobType(columnType);
  return {
    type: { kind: 'utf8' },
    native: isLong ? 'longtext' : `${isFixed ? 'char' : 'varchar'}(${letters})`,
  };
}

/** The four sizes of BLOB and TEXT. */
function isBlobType(columnType: number): boolean {
  return columnType >= 249 && columnType <= 252;
}
