/**
 * Casting of cells: a text that is already the spelling of its value is not copied, only its kind
 * changes.
 */
import { ColumnBuilder, valuesOf } from '../../kit/cells.ts';
import {
  FALSE,
  MISSING,
  NUMBER,
  TEXT,
  TRUE,
  type Column,
  type Columns,
} from '../../kit/columns.ts';
import type { JsonValue } from '../../lib/text/json.ts';
import type { CONVERSIONS } from './cast-values.ts';

const MINUS = 0x2d;
const POINT = 0x2e;
const ZERO = 0x30;
const NINE = 0x39;
/** A number with at most so many digits is written exactly as it was read. */
const EXACT_DIGITS = 15;
/** With more zeros behind the point a number is written with an exponent. */
const PLAIN_ZEROS = 5;

interface Cast {
  readonly type: keyof typeof CONVERSIONS;
  /** For the values that are not in their shortest spelling. */
  readonly change: (value: JsonValue) => JsonValue;
}

/** The kind that a text gets without being copied; `MISSING` when it has to be converted. */
type KindOf = (bytes: Uint8Array, start: number, end: number) => number;

export function castColumn(columns: Columns, column: Column, { type, change }: Cast): Column {
  const { starts, ends, kinds } = column;
  const kindOf = KINDS[type];
  const read = valuesOf(columns, column);
  const builder = new ColumnBuilder(columns);
  for (const row of columns.rows) {
    const kind = kinds[row] as number;
    const start = starts[row] as number;
    const end = ends[row] as number;
    const becomes = kind === TEXT ? kindOf(columns.cells.bytes, start, end) : MISSING;
    if (becomes !== MISSING) {
      builder.starts[row] = start;
      builder.ends[row] = end;
      builder.kinds[row] = becomes;
    } else if (kind !== MISSING) builder.set(row, change(read(row) as JsonValue));
  }
  return builder;
}

const KINDS: Readonly<Record<keyof typeof CONVERSIONS, KindOf>> = {
  int: (bytes, start, end) => (isInteger(bytes, start, end) ? NUMBER : MISSING),
  float: (bytes, start, end) =>
    isInteger(bytes, start, end) || isFraction(bytes, start, end) ? NUMBER : MISSING,
  bool: (bytes, start, end) =>
    reads(bytes, start, end, 'true') ? TRUE : reads(bytes, start, end, 'false') ? FALSE : MISSING,
  string: () => TEXT,
  timestamp: () => MISSING,
};

function isInteger(bytes: Uint8Array, start: number, end: number): boolean {
  const first = bytes[start] === MINUS ? start + 1 : start;
  if (end === first || end - first > EXACT_DIGITS) return false;
  // Neither `007` nor `-0` is how a number is written.
  if (bytes[first] === ZERO && end - start > 1) return false;
  return digitsEnd(bytes, first, end) === end;
}

function isFraction(bytes: Uint8Array, start: number, end: number): boolean {
  const first = bytes[start] === MINUS ? start + 1 : start;
  if (end - first > EXACT_DIGITS + 1 || bytes[end - 1] === ZERO) return false;
  const point = digitsEnd(bytes, first, end);
  if (point === first || point >= end - 1 || bytes[point] !== POINT) return false;
  if (digitsEnd(bytes, point + 1, end) !== end) return false;
  if (bytes[first] !== ZERO) return true;
  let zeros = point + 1;
  while (bytes[zeros] === ZERO) zeros += 1;
  return point - first === 1 && zeros - point - 1 <= PLAIN_ZEROS;
}

function digitsEnd(bytes: Uint8Array, from: number, end: number): number {
  let at = from;
  while (at < end && (bytes[at] as number) >= ZERO && (bytes[at] as number) <= NINE) at += 1;
  return at;
}

// oxlint-disable-next-line max-params
function reads(bytes: Uint8Array, start: number, end: number, text: string): boolean {
  if (end - start !== text.length) return false;
  for (let index = 0; index < text.length; index += 1)
    if (bytes[start + index] !== text.charCodeAt(index)) return false;
  return true;
}
