/** Values that the server would round, or cut, on their way into a column of a narrow type. */
import type { RecordType } from '../../../kit/record-schema.ts';
import type { LiveColumn } from '../../_sql/driver.ts';
import {
  DATE_ROUNDING,
  DOUBLE_ROUNDING,
  FLOAT_ROUNDING,
  hasMoreDigits,
  isLongNumber,
  isWhole,
  scaleRounding,
  secondsRounding,
  type CellRounding,
  type Rounding,
} from '../../_sql/rounding.ts';

/** `undefined` where the column holds all values of the type. */
export function roundingOf(
  { sqlType }: Pick<LiveColumn, 'sqlType'>,
  type: RecordType | undefined,
): Rounding | undefined {
  const { name, digits, scale } = partsOf(sqlType);
  if (/int$|^year$/.test(name))
    return isKind(type, 'int', 'bool') ? undefined : { ...scaleRounding(0), refuses: () => true };
  switch (name) {
    case 'decimal':
      if (type?.kind === 'decimal' && (type.scale ?? Infinity) <= scale) return undefined;
      return isKind(type, 'int') ? undefined : scaleRounding(scale);
    case 'float':
      return type?.kind === 'float32' ? undefined : { ...FLOAT_ROUNDING, refuses: isWhole };
    case 'double':
      return isKind(type, 'float') ? undefined : { ...DOUBLE_ROUNDING, refuses: isWhole };
    case 'date':
      return type?.kind === 'date' ? undefined : DATE_ROUNDING;
    case 'time':
    case 'datetime':
    case 'timestamp':
      return secondsRounding(digits);
    case 'varchar':
      return spacesRounding(digits);
    default:
      return undefined;
  }
}

interface TypeParts {
  readonly name: string;
  /** The first number in brackets, and the second one. */
  readonly digits: number;
  readonly scale: number;
}

function partsOf(sqlType: string): TypeParts {
  const [, name = '', first = '0', second = '0'] =
    /^(\w+)(?:\((\d+)(?:,(\d+))?\))?/.exec(sqlType) ?? [];
  return { name, digits: Number(first), scale: Number(second) };
}

/** The same for cells. */
export function cellRoundingOf(
  column: Pick<LiveColumn, 'sqlType'>,
  type: RecordType | undefined,
): CellRounding | undefined {
  const rounding = roundingOf(column, type);
  return rounding === undefined ? undefined : { ...rounding, ...lookOf(partsOf(column.sqlType)) };
}

/** Shorter numbers are exact. */
const FLOAT_LENGTH = 7;
const DOUBLE_LENGTH = 16;

function lookOf({ name, digits, scale }: TypeParts): Pick<CellRounding, 'from' | 'mayRound'> {
  switch (name) {
    case 'date':
      return { from: 12 };
    case 'varchar':
      return { from: digits + 1 };
    case 'time':
    case 'datetime':
    case 'timestamp':
      return {
        from: digits + 1,
        mayRound: (bytes, start, end) => hasLongFraction(bytes, start, { end, digits }),
      };
    case 'float':
      return {
        from: 1,
        mayRound: (bytes, start, end) => isLongNumber(bytes, start, end, FLOAT_LENGTH),
      };
    case 'double':
      return {
        from: 1,
        mayRound: (bytes, start, end) => isLongNumber(bytes, start, end, DOUBLE_LENGTH),
      };
    default:
      return { from: 1, mayRound: (bytes, start, end) => hasMoreDigits(bytes, start, end, scale) };
  }
}

const POINT = 46;
const ZERO = 48;
const NINE = 57;
const BACKSLASH = 92;

/** Whether more digits follow a point, or an escape hides what does. */
function hasLongFraction(
  bytes: Uint8Array,
  start: number,
  { end, digits }: { readonly end: number; readonly digits: number },
): boolean {
  let places = -Infinity;
  for (let at = start; at < end; at += 1) {
    const byte = bytes[at] as number;
    if (byte === BACKSLASH) return true;
    if (byte === POINT) places = 0;
    else if (byte < ZERO || byte > NINE) places = -Infinity;
    else if ((places += 1) > digits) return true;
  }
  return false;
}

function isKind(type: RecordType | undefined, ...starts: readonly string[]): boolean {
  return type !== undefined && starts.some((start) => type.kind.startsWith(start));
}

/** Spaces at the end that have no room go without an error; any other letter is refused. */
function spacesRounding(length: number): Rounding {
  return { rounds: (text) => text.endsWith(' ') && Array.from(text).length > length };
}
