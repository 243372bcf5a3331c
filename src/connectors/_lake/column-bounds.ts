/** Counts of nulls and bounds of the columns of one data file, by which readers pass over files. */
import { isObject, jsonText, type JsonObject, type JsonValue } from '../../lib/text/json.ts';
import { exactField, literalValue } from '../../lib/text/json-literal.ts';
import { daysOf, nanosOfTime, nanosOfTimestamp } from '../../lib/time/iso-text.ts';
import { unscaledOf } from '../_files/parquet/exact-values.ts';

export type Comparable = number | bigint | string;

/** How values of a column are compared; `undefined`: they are not. */
export type Comparison =
  | { readonly as: 'number' | 'text' | 'day' | 'time' | 'moment' }
  | { readonly as: 'decimal'; readonly scale: number };

export interface BoundColumn {
  /** The names of the fields above it, and its own. */
  readonly path: readonly string[];
  readonly comparison: Comparison | undefined;
}

interface Found {
  nulls: number;
  /** Absent without values, and where one of them is none that can be compared, such as NaN. */
  min: Comparable | undefined;
  max: Comparable | undefined;
  isBounded: boolean;
}

export class ColumnBounds<C extends BoundColumn> {
  records = 0;
  readonly #columns: readonly { readonly column: C; readonly found: Found }[];

  constructor(columns: readonly C[]) {
    this.#columns = columns.map((column) => ({
      column,
      found: {
        nulls: 0,
        min: undefined,
        max: undefined,
        isBounded: column.comparison !== undefined,
      },
    }));
  }

  add(records: readonly JsonObject[]): void {
    this.records += records.length;
    for (const { column, found } of this.#columns)
      for (const record of records) take(found, valueAt(record, column.path), column.comparison);
  }

  /** `min` and `max` are both there or both absent. */
  columns(): { readonly column: C; readonly nulls: number; min?: Comparable; max?: Comparable }[] {
    return this.#columns.map(({ column, found: { nulls, min, max, isBounded } }) =>
      isBounded && min !== undefined && max !== undefined
        ? { column, nulls, min, max }
        : { column, nulls },
    );
  }
}

function valueAt(record: JsonObject, path: readonly string[]): JsonValue {
  let value: JsonValue = record;
  for (const name of path) {
    if (!isObject(value)) return null;
    value = literalValue(exactField(value, name) ?? null);
  }
  return value;
}

function take(found: Found, value: JsonValue, comparison: Comparison | undefined): void {
  if (value === null || value === undefined) {
    found.nulls += 1;
    return;
  }
  if (!found.isBounded || comparison === undefined) return;
  const one = comparable(value, comparison);
  if (one === undefined) {
    found.isBounded = false;
    return;
  }
  if (found.min === undefined || isBelow(one, found.min)) found.min = one;
  if (found.max === undefined || isBelow(found.max, one)) found.max = one;
}

/** Days, and nanoseconds of times; `undefined` for what cannot be compared. */
export function comparable(value: JsonValue, comparison: Comparison): Comparable | undefined {
  if (comparison.as === 'decimal')
    return unscaledOf(typeof value === 'string' ? value : jsonText(value), comparison.scale);
  if (comparison.as === 'number')
    return typeof value === 'number' || typeof value === 'bigint' ? value : undefined;
  if (typeof value !== 'string') return undefined;
  switch (comparison.as) {
    case 'text':
      return value;
    case 'day':
      return daysOf(value);
    case 'time':
      return nanosOfTime(value);
    default:
      return nanosOfTimestamp(value);
  }
}

/** Texts by their code points, which is not how the language compares them. */
export function isBelow(a: Comparable, b: Comparable): boolean {
  if (typeof a !== 'string' || typeof b !== 'string') return a < b;
  if (!SURROGATE.test(a) && !SURROGATE.test(b)) return a < b;
  return Buffer.compare(Buffer.from(a), Buffer.from(b)) < 0;
}

const SURROGATE = /[\uD800-\uDFFF]/;
