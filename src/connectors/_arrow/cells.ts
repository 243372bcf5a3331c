/** Values of columns in the format of Arrow as values of records. */
import type { DataType as ArrowType, Data, Time, Timestamp } from 'apache-arrow';
import type { JsonValue } from '../../lib/text/json.ts';
import { shortestFloat } from '../../lib/text/shortest-float.ts';
import { decimalText, floatNumber, wholeNumber } from '../_files/parquet/exact-values.ts';
import { instantText, timeOfDayText, wallClockText } from '../_sql/micros.ts';
import type { Arrow } from './batches.ts';

/** The value of a row, which is not null there. */
export type Cell = (row: number) => JsonValue;

/**
 * For a column of single values; `undefined` for one of another type. Integers and times are taken
 * as they are stored: the library rounds some of them.
 */
export function cellOf(
  { DataType, DateUnit, Precision, makeVector }: Arrow,
  data: Data,
): Cell | undefined {
  const { type } = data;
  const vector = makeVector(data);
  if (DataType.isNull(type)) return () => null;
  if (DataType.isBool(type)) return (row) => vector.get(row) as boolean;
  if (DataType.isUtf8(type) || DataType.isLargeUtf8(type)) return (row) => String(vector.get(row));
  if (DataType.isBinary(type) || DataType.isLargeBinary(type))
    return (row) => Buffer.from(vector.get(row) as Uint8Array).toString('base64');
  if (DataType.isInt(type)) {
    const stored = data.values as ArrayLike<number | bigint>;
    return (row) => wholeNumber(BigInt(stored[row] ?? 0));
  }
  if (DataType.isFloat(type)) {
    const isShort = type.precision === Precision.SINGLE;
    return (row) => {
      const value = vector.get(row) as number;
      return isShort && Number.isFinite(value) ? shortestFloat(value) : floatNumber(value);
    };
  }
  if (DataType.isDecimal(type)) {
    const words = data.values as Uint32Array;
    const each = type.bitWidth / WORD_BITS;
    return (row) => decimalText(unscaled(words.subarray(row * each, (row + 1) * each)), type.scale);
  }
  if (DataType.isDate(type)) {
    const ms = type.unit === DateUnit.DAY ? DAY_MS : 1;
    const stored = data.values as ArrayLike<number | bigint>;
    return (row) => new Date(Number(stored[row]) * ms).toISOString().slice(0, 'yyyy-mm-dd'.length);
  }
  const text = momentText({ DataType }, type);
  const factor = text === undefined ? undefined : MICROS_OF[(type as Timestamp | Time).unit];
  if (text === undefined || factor === undefined) return undefined;
  const stored = data.values as ArrayLike<number | bigint>;
  return (row) => text(BigInt(stored[row] ?? 0) * factor);
}

/** Of microseconds; `undefined` for what is no time. */
function momentText(
  { DataType }: Pick<Arrow, 'DataType'>,
  type: ArrowType,
): ((micros: bigint) => string) | undefined {
  if (DataType.isTime(type)) return timeOfDayText;
  if (!DataType.isTimestamp(type)) return undefined;
  return type.timezone === null || type.timezone === undefined ? wallClockText : instantText;
}

const DAY_MS = 86_400_000;
const WORD_BITS = 32;

/** Microseconds of seconds, milliseconds and microseconds. */
const MICROS_OF: readonly (bigint | undefined)[] = [1_000_000n, 1000n, 1n];

/** The least significant word first. */
function unscaled(words: Uint32Array): bigint {
  let value = 0n;
  for (let at = words.length - 1; at >= 0; at -= 1)
    value = (value << BigInt(WORD_BITS)) | BigInt(words[at] ?? 0);
  return BigInt.asIntN(words.length * WORD_BITS, value);
}
