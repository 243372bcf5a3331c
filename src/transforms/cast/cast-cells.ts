/**
 * Casting of cells: a text that is already the spelling of its value is not copied, only its kind
 * changes.
 */
import { isFraction, isInteger, reads } from '../../kit/cell-texts.ts';
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

interface Cast {
  readonly type: keyof typeof CONVERSIONS;
  /** For the values that are not in their shortest spelling. */
  readonly change: (value: JsonValue) => JsonValue;
  readonly decimal: '.' | ',';
}

/** The kind that a text gets without being copied; `MISSING` when it has to be converted. */
type KindOf = (bytes: Uint8Array, start: number, end: number) => number;

export function castColumn(
  columns: Columns,
  column: Column,
  { type, change, decimal }: Cast,
): Column {
  const { starts, ends, kinds } = column;
  const kindOf = type === 'float' && decimal === ',' ? isSpelledOtherwise : KINDS[type];
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

const isSpelledOtherwise: KindOf = () => MISSING;

const KINDS: Readonly<Record<keyof typeof CONVERSIONS, KindOf>> = {
  int: (bytes, start, end) => (isInteger(bytes, start, end) ? NUMBER : MISSING),
  float: (bytes, start, end) =>
    isInteger(bytes, start, end) || isFraction(bytes, start, end) ? NUMBER : MISSING,
  bool: (bytes, start, end) =>
    reads(bytes, start, end, 'true') ? TRUE : reads(bytes, start, end, 'false') ? FALSE : MISSING,
  string: () => TEXT,
  timestamp: () => MISSING,
};
