/** Pages of columns that are written without making records. */
import { valuesOf } from '../../kit/cells.ts';
import { hasCells, MISSING, TRUE, type Column, type Columns } from '../../kit/columns.ts';
import type { RecordSchema, RecordType } from '../../kit/record-schema.ts';
import { nearColumn, type NameRules, type UnknownFields } from './column-names.ts';
import type { LiveColumn } from './driver.ts';
import { changes, type CellRounding } from './rounding.ts';
import { typedColumns } from './typed-columns.ts';

/** A column of the table, and the cells that fill it. */
export interface FilledColumn<C> {
  readonly to: C & { readonly type?: RecordType };
  readonly from: Column;
}

export interface FilledColumns<C> {
  readonly known: readonly FilledColumn<C>[];
  readonly unknown: UnknownFields;
}

interface Target<C> {
  /** In table order. */
  readonly live: readonly C[];
  readonly rules: NameRules;
  readonly schema: RecordSchema | undefined;
}

/**
 * The columns that a page fills. Fields without a column are left out and counted. `undefined` for
 * rows without any known field, rows that get the default of a column, and names that are nearly
 * those of columns: they go through records.
 */
export function filledColumns<C extends Pick<LiveColumn, 'name' | 'hasDefault'>>(
  columns: Columns,
  { live, rules, schema }: Target<C>,
): FilledColumns<C> | undefined {
  const known = typedColumns(live, schema).flatMap((to) => {
    const from = columns.column(to.name);
    return from === undefined || !hasCells(columns, from) ? [] : [{ to, from }];
  });
  if (known.length === 0 || !known.some(({ from }) => columns.isWhole(from))) return undefined;
  if (known.some(({ to, from }) => to.hasDefault === true && !columns.isWhole(from)))
    return undefined;
  const names = live.map(({ name }) => name);
  const unknown = unknownFields(columns, new Set(names));
  if ([...unknown.keys()].some((field) => nearColumn(field, names, rules) !== undefined))
    return undefined;
  return { known, unknown };
}

/** In how many rows each column changes a number, a time or a text. */
export function roundedCells<C extends Pick<LiveColumn, 'name'>>(
  columns: Columns,
  known: readonly FilledColumn<C>[],
  roundingOf: (column: FilledColumn<C>['to']) => CellRounding | undefined,
): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const { to, from } of known) {
    const rounding = roundingOf(to);
    const count = rounding === undefined ? 0 : roundedCount(columns, from, rounding);
    if (count > 0) counts.set(to.name, count);
  }
  return counts;
}

function roundedCount(columns: Columns, column: Column, rounding: CellRounding): number {
  const { starts, ends, kinds } = column;
  const { from, mayRound } = rounding;
  const { bytes } = columns.cells;
  const valueAt = valuesOf(columns, column);
  let count = 0;
  for (let index = 0; index < columns.rows.length; index += 1) {
    const row = columns.rows[index] as number;
    if ((kinds[row] as number) <= TRUE) continue;
    const [start, end] = [starts[row] as number, ends[row] as number];
    if (end - start < from || mayRound?.(bytes, start, end) === false) continue;
    if (changes(valueAt(row) ?? null, rounding)) count += 1;
  }
  return count;
}

function unknownFields(columns: Columns, known: ReadonlySet<string>): UnknownFields {
  const unknown = new Map<string, number>();
  for (const [index, name] of columns.names.entries()) {
    const column = columns.columns[index];
    if (known.has(name) || column === undefined) continue;
    const count = cellCount(columns, column);
    if (count > 0) unknown.set(name, count);
  }
  return unknown;
}

/** The number of records that have the field. */
function cellCount({ rows }: Columns, { kinds }: Column): number {
  let count = 0;
  for (let index = 0; index < rows.length; index += 1)
    if (kinds[rows[index] as number] !== MISSING) count += 1;
  return count;
}
