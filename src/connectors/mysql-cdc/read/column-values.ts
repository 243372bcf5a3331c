/** How the values of a column are read from the rows of the log. */
import { ConnectorError } from '../../../lib/errors.ts';
import type { JsonValue } from '../../../lib/text/json.ts';
import { isNotCompact, jsonDecoder } from '../../_sql/value-decoders.ts';
import { inet4Text, inet6Text, uuidText } from '../values/addresses.ts';
import type { Charsets, TextReader } from '../values/charsets.ts';
import { decimalShape, readDecimal } from '../values/decimals.ts';
import { readJson } from '../values/json-binary.ts';
import { readDate, readDatetime, readTime, readTimestamp, readYear } from '../values/times.ts';
import type { ByteReader } from './byte-reader.ts';
import type { ColumnHint } from './column-hints.ts';
import { TYPE, type LogColumn } from './table-map.ts';

export type ValueReader = (from: ByteReader) => JsonValue;

/** `charsets` was prepared for the collation of the column. */
export function valueReader(
  column: LogColumn,
  hint: ColumnHint | undefined,
  charsets: Charsets,
): ValueReader {
  const { type, meta, isUnsigned } = column;
  switch (type) {
    case TYPE.tiny:
      return tinyReader(isUnsigned, hint?.isTruth === true);
    case TYPE.short:
    case TYPE.int24:
    case TYPE.long:
      return integerReader(type === TYPE.short ? 2 : type === TYPE.int24 ? 3 : 4, isUnsigned);
    case TYPE.longlong:
      return isUnsigned ? (from) => from.uint64() : (from) => from.int64();
    case TYPE.float:
      return (from) => shortest32(from.take(4).readFloatLE(0));
    case TYPE.double:
      return (from) => from.take(8).readDoubleLE(0);
    case TYPE.decimal: {
      const shape = decimalShape(meta & 0xff, meta >> 8, hint?.isFilled);
      return (from) => readDecimal(from, shape);
    }
    case TYPE.year:
      return readYear;
    case TYPE.date:
    case TYPE.newDate:
      return readDate;
    case TYPE.timestamp2:
      return (from) => readTimestamp(from, meta);
    case TYPE.datetime2:
      return (from) => readDatetime(from, meta);
    case TYPE.time2:
      return (from) => readTime(from, meta);
    case TYPE.bit:
      return bitReader((meta >> 8) * 8 + (meta & 0xff));
    default:
      return longReader(column, hint, charsets);
  }
}

/** Those with a length, and those that choose from labels. */
function longReader(
  column: LogColumn,
  hint: ColumnHint | undefined,
  charsets: Charsets,
): ValueReader {
  const { type, meta } = column;
  switch (type) {
    case TYPE.enum:
      return enumReader(labelsOf(column, charsets), meta);
    case TYPE.set:
      return setReader(labelsOf(column, charsets), meta);
    case TYPE.json:
      return (from) => readJson(from.take(from.uint(meta)));
    case TYPE.geometry:
    case TYPE.vector:
      return (from) => from.take(from.uint(meta)).toString('base64');
    case TYPE.string:
      return fixedReader(column, hint, charsets);
    case TYPE.varchar:
    case TYPE.varString:
      return textReader(column, meta > 255 ? 2 : 1, { hint, charsets });
    case TYPE.tinyBlob:
    case TYPE.mediumBlob:
    case TYPE.longBlob:
    case TYPE.blob:
      return textReader(column, meta, { hint, charsets });
    default:
      throw unknownType(column);
  }
}

function tinyReader(isUnsigned: boolean, isTruth: boolean): ValueReader {
  const read: ValueReader = isUnsigned
    ? (from) => from.uint(1)
    : (from) => (from.uint(1) << 24) >> 24;
  if (!isTruth) return read;
  // Another number than these two stays a number: it must not end every run at the same change.
  return (from) => {
    const value = read(from);
    return value === 0 ? false : value === 1 ? true : value;
  };
}

function integerReader(size: number, isUnsigned: boolean): ValueReader {
  if (isUnsigned) return (from) => from.uint(size);
  return (from) => {
    const value = from.bytes.readIntLE(from.at, size);
    from.at += size;
    return value;
  };
}

const SURE_DIGITS = 6;
const MOST_DIGITS = 9;
/** Smaller numbers have fewer digits. */
const SMALLEST_NORMAL = 2 ** -126;

/** The shortest decimal that is the same number of 32 bits, as the source `mysql` gives it. */
function shortest32(value: number): number {
  const first = Math.abs(value) < SMALLEST_NORMAL ? 1 : SURE_DIGITS;
  for (let digits = first; digits < MOST_DIGITS; digits += 1) {
    const short = Number(value.toPrecision(digits));
    if (Math.fround(short) === value) return short;
  }
  return Number(value.toPrecision(MOST_DIGITS));
}

/** One bit is a boolean; more of them are a number. */
function bitReader(bits: number): ValueReader {
  const size = (bits + 7) >> 3;
  if (bits === 1) return (from) => from.uint(1) === 1;
  return (from) => {
    const bytes = from.take(size);
    if (size <= 6) return bytes.readUIntBE(0, size);
    const value = BigInt(`0x${bytes.toString('hex')}`);
    return value <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(value) : value;
  };
}

function labelsOf(column: LogColumn, charsets: Charsets): string[] {
  const read = charsetReader(column, charsets);
  return column.labels.map((label) =>
    read === undefined ? label.toString('utf8') : read(label, 0, label.length),
  );
}

/** The number 0 is the empty text, which stands for values that were not valid. */
function enumReader(labels: readonly string[], size: number): ValueReader {
  return (from) => {
    const number = from.uint(size);
    return number === 0 ? '' : (labels[number - 1] ?? lacking());
  };
}

function setReader(labels: readonly string[], size: number): ValueReader {
  return (from) => {
    const bits = from.take(size);
    return labels
      .filter((_, index) => ((bits[index >> 3] ?? 0) & (1 << (index & 7))) !== 0)
      .join(',');
  };
}

function charsetReader(column: LogColumn, charsets: Charsets): TextReader | undefined {
  if (column.collation === undefined)
    throw new ConnectorError(
      'data',
      `the log does not say the character set of \`${column.name}\``,
      {
        hint: 'SET GLOBAL binlog_row_metadata = FULL',
      },
    );
  return charsets.readerOf(column.collation);
}

/** Zeros at the end of `binary(n)` are not logged. */
function fixedReader(
  column: LogColumn,
  hint: ColumnHint | undefined,
  charsets: Charsets,
): ValueReader {
  const { meta: length } = column;
  const lengthBytes = length > 255 ? 2 : 1;
  const read = charsetReader(column, charsets);
  if (read !== undefined) return textReader(column, lengthBytes, { hint, charsets });
  const format = byteFormat(hint);
  return (from) => {
    const bytes = from.take(from.uint(lengthBytes));
    if (bytes.length === length) return format(bytes);
    const padded = Buffer.alloc(length);
    bytes.copy(padded);
    return format(padded);
  };
}

const BYTE_FORMATS: Readonly<Record<string, (bytes: Buffer) => string>> = {
  uuid: uuidText,
  inet4: inet4Text,
  inet6: inet6Text,
};

function byteFormat(hint: ColumnHint | undefined): (bytes: Buffer) => string {
  return BYTE_FORMATS[hint?.extended ?? ''] ?? ((bytes) => bytes.toString('base64'));
}

interface Reading {
  readonly hint: ColumnHint | undefined;
  readonly charsets: Charsets;
}

function textReader(
  column: LogColumn,
  lengthBytes: number,
  { hint, charsets }: Reading,
): ValueReader {
  const read = charsetReader(column, charsets);
  if (read === undefined) return (from) => from.take(from.uint(lengthBytes)).toString('base64');
  const text = (from: ByteReader): string => {
    const length = from.uint(lengthBytes);
    const at = from.at;
    from.skip(length);
    return read(from.bytes, at, from.at);
  };
  if (hint?.isJson !== true) return text;
  const decode = jsonDecoder({
    column: column.name,
    bigNumbers: 'string',
    isRespelled: isNotCompact,
  });
  // A value that is no JSON would end every run at the same change.
  return (from) => {
    const written = text(from);
    try {
      return decode(written);
    } catch {
      return written;
    }
  };
}

const OLD_TIMES: ReadonlySet<number> = new Set([TYPE.timestamp, TYPE.time, TYPE.datetime]);
const COMPRESSED: ReadonlySet<number> = new Set([TYPE.blobCompressed, TYPE.varcharCompressed]);

function unknownType({ name, type }: LogColumn): ConnectorError {
  if (OLD_TIMES.has(type))
    return new ConnectorError(
      'refused',
      `the column \`${name}\` has a time in the format of MySQL 5.5`,
      {
        hint: 'SET GLOBAL mysql56_temporal_format = ON, then ALTER TABLE … FORCE; or leave out its table (`exclude_tables`)',
      },
    );
  if (COMPRESSED.has(type))
    return new ConnectorError(
      'refused',
      `the column \`${name}\` is \`COMPRESSED\`, which cannot be read`,
      {
        hint: 'ALTER TABLE … MODIFY it without COMPRESSED, or leave out its table (`exclude_tables`)',
      },
    );
  return new ConnectorError(
    'refused',
    `the column \`${name}\` has the type ${type}, which is not known`,
    {
      hint: 'leave out its table (`exclude_tables`)',
    },
  );
}

function lacking(): never {
  throw new RangeError('a value has no label');
}

/** Collations that have to be prepared before the columns can be read. */
export function collationsOf(columns: readonly LogColumn[]): number[] {
  return columns.flatMap(({ collation }) => (collation === undefined ? [] : [collation]));
}
