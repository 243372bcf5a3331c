/** Values that the server would round, or cut, on their way into a column of a narrow type. */
import type { RecordType } from '../../kit/record-schema.ts';
import type { LiveColumn } from '../_sql/driver.ts';
import {
  DATE_ROUNDING,
  DOUBLE_ROUNDING,
  FLOAT_ROUNDING,
  hasMoreDigits,
  isLongNumber,
  scaleRounding,
  secondsRounding,
  type CellRounding,
} from '../_sql/rounding.ts';

export interface ColumnRounding extends CellRounding {
  /** The same question of the binary form of a value; a yes only means perhaps. */
  readonly roundsBinary: (bytes: Buffer) => boolean;
}

type Narrow = Pick<LiveColumn, 'sqlType' | 'baseType' | 'limits'>;

/** `undefined` where the column holds all values of the type. */
export function columnRounding(
  { limits, baseType, sqlType }: Narrow,
  type: RecordType | undefined,
): ColumnRounding | undefined {
  const full = limits ?? baseType ?? sqlType;
  if (full.endsWith('[]'))
    return narrowingOf(full.slice(0, -2), type?.kind === 'list' ? type.item : undefined);
  return narrowingOf(full, type);
}

function narrowingOf(full: string, type: RecordType | undefined): ColumnRounding | undefined {
  const [, name = full, first, second, rest = ''] =
    /^([a-z ]+?)\((-?\d+)(?:,(-?\d+))?\)( .*)?$/.exec(full) ?? [];
  const digits = Number(first);
  switch (name + rest) {
    case 'numeric':
      return first === undefined ? undefined : scale(Number(second ?? 0), type);
    case 'money':
      return scale(2, type);
    case 'real':
      return hasKind(type, SMALL_NUMBERS)
        ? undefined
        : { ...FLOAT_ROUNDING, ...longer(7), ...NEVER };
    case 'double precision':
      return hasKind(type, NUMBERS) ? undefined : { ...DOUBLE_ROUNDING, ...longer(16), ...NEVER };
    case 'date':
      return hasKind(type, DATES) ? undefined : { ...DATE_ROUNDING, from: 12, ...NEVER };
    case 'character varying':
      return first === undefined ? undefined : spaces(digits);
    case 'time without time zone':
    case 'time with time zone':
    case 'timestamp without time zone':
    case 'timestamp with time zone':
      return first === undefined || isAsCoarse(type, digits) ? undefined : seconds(name, digits);
    default:
      return undefined;
  }
}

/** Values of the same type on the other side are the same values. */
const NEVER = { roundsBinary: () => false };

const INTEGERS = ['int8', 'int16', 'int32', 'uint8', 'uint16', 'uint32'];
const SMALL_NUMBERS = new Set(['int8', 'int16', 'uint8', 'uint16', 'float32', 'bool']);
const NUMBERS = new Set([...INTEGERS, 'float32', 'float64', 'bool']);
const DATES = new Set(['date']);

function hasKind(type: RecordType | undefined, kinds: ReadonlySet<string>): boolean {
  return type !== undefined && kinds.has(type.kind);
}

/** Numbers of fewer digits are exact, unless they have an exponent. */
function longer(length: number): Pick<CellRounding, 'from' | 'mayRound'> {
  return { from: 1, mayRound: (bytes, start, end) => isLongNumber(bytes, start, end, length) };
}

const DISPLAY_SCALE = 6;

function scale(places: number, type: RecordType | undefined): ColumnRounding | undefined {
  if (type?.kind === 'decimal' && (type.scale ?? Infinity) <= places) return undefined;
  if (places >= 0 && type !== undefined && /^u?int/.test(type.kind)) return undefined;
  return {
    ...scaleRounding(places),
    from: 1,
    mayRound: (bytes, start, end) => places < 0 || hasMoreDigits(bytes, start, end, places),
    // More places than those, which may be zeros.
    roundsBinary: (bytes) =>
      places < 0 || (bytes.length >= 8 && bytes.readUInt16BE(DISPLAY_SCALE) > places),
  };
}

const UNIT_DIGITS = { s: 0, ms: 3, us: 6, ns: 9 } as const;

function isAsCoarse(type: RecordType | undefined, digits: number): boolean {
  return type?.kind === 'timestamp' && UNIT_DIGITS[type.unit] <= digits;
}

function seconds(name: string, digits: number): ColumnRounding {
  const step = 10n ** BigInt(6 - digits);
  return {
    ...secondsRounding(digits),
    from: (name === 'time' ? 9 : 20) + digits,
    roundsBinary: (bytes) => bytes.readBigInt64BE(0) % step !== 0n,
  };
}

/** Spaces at the end go without a word; other letters beyond the length are refused. */
function spaces(length: number): ColumnRounding {
  return {
    rounds: (text) => text.endsWith(' ') && text.length - pairsIn(text) > length,
    from: length + 1,
    roundsBinary: (bytes) => bytes.length > length,
  };
}

/** Letters that are two to JavaScript and one to the server. */
function pairsIn(text: string): number {
  return text.match(/[\uD800-\uDBFF][\uDC00-\uDFFF]/g)?.length ?? 0;
}
