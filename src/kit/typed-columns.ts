/** Types for cells: a cell that already has the form of its type is not copied. */
import { RecordError } from '../lib/errors.ts';
import type { JsonValue } from '../lib/text/json.ts';
import { isDate, isDecimal, isFraction, isInteger, isMoment, reads } from './cell-texts.ts';
import { ColumnBuilder, valuesOf } from './cells.ts';
import { FALSE, MISSING, NULL, NUMBER, TEXT, TRUE, type Column, type Columns } from './columns.ts';
import type { RecordField, RecordType } from './record-schema.ts';
import { UNIT_DIGITS } from './typed-conversion.ts';

/** The kind that a cell gets without being changed; `MISSING` when it has to be converted. */
// Called for single cells: an object for the arguments would cost time.
// oxlint-disable-next-line max-params
type KindOf = (bytes: Uint8Array, start: number, end: number, kind: number) => number;

export interface TypedField {
  readonly field: RecordField;
  /** `undefined` for a value that does not fit. */
  readonly convert: (value: JsonValue) => JsonValue | undefined;
  readonly kindOf: KindOf;
}

/** `undefined` when a value does not fit, or fits no cell: the records of the page decide then. */
export function typedColumns(columns: Columns, fields: readonly TypedField[]): Columns | undefined {
  let typed = columns;
  try {
    for (const field of fields) {
      const { name, nullable } = field.field;
      const column = columns.column(name);
      const made = column === undefined ? undefined : typedColumn(columns, column, field);
      if (made !== undefined) typed = made === column ? typed : typed.with(name, made);
      else if (column !== undefined || !nullable) return undefined;
    }
  } catch (error) {
    if (error instanceof RecordError) return undefined;
    throw error;
  }
  return typed;
}

function typedColumn(
  columns: Columns,
  column: Column,
  { field: { nullable }, convert, kindOf }: TypedField,
): Column | undefined {
  const { rows, cells } = columns;
  const { starts, ends } = column;
  const read = valuesOf(columns, column);
  const change = new ChangedCells(columns, column);
  for (let index = 0; index < rows.length; index += 1) {
    const row = rows[index] as number;
    const kind = column.kinds[row] as number;
    const start = starts[row] as number;
    const end = ends[row] as number;
    const becomes = kind <= NULL ? kind : kindOf(cells.bytes, start, end, kind);
    if (becomes > NULL) {
      if (becomes !== kind) change.kinds[row] = becomes;
      continue;
    }
    if (kind > NULL) {
      const value = convert(read(row) as JsonValue);
      if (value === undefined) return undefined;
      change.set(row, value);
      if (value !== null) continue;
    }
    if (!nullable) return undefined;
  }
  return change.column();
}

/** The cells of a column, of which only the changed ones are written anew. */
class ChangedCells {
  kinds: Uint8Array;
  readonly #columns: Columns;
  readonly #column: Column;
  #builder: ColumnBuilder | undefined;
  /** The row of the first null. */
  #null: number | undefined;

  constructor(columns: Columns, column: Column) {
    this.#columns = columns;
    this.#column = column;
    this.kinds = column.kinds.slice();
  }

  set(row: number, value: JsonValue): void {
    const builder = (this.#builder ??= this.#build());
    const same = value === null ? this.#null : undefined;
    if (same === undefined) {
      builder.set(row, value);
      if (value === null) this.#null = row;
      return;
    }
    builder.starts[row] = builder.starts[same] as number;
    builder.ends[row] = builder.ends[same] as number;
    builder.kinds[row] = NULL;
  }

  column(): Column {
    if (this.#builder !== undefined) return this.#builder;
    const { starts, ends, kinds } = this.#column;
    const isSame = this.kinds.every((kind, row) => kind === kinds[row]);
    return isSame ? this.#column : { starts, ends, kinds: this.kinds };
  }

  #build(): ColumnBuilder {
    const builder = new ColumnBuilder(this.#columns);
    builder.starts.set(this.#column.starts);
    builder.ends.set(this.#column.ends);
    builder.kinds.set(this.kinds);
    this.kinds = builder.kinds;
    return builder;
  }
}

export interface CellForms {
  /** Whether texts are converted: those of JSON may have to stay texts. */
  readonly texts: boolean;
  /** Whether all values come from texts. */
  readonly fromText: boolean;
}

/** Digits of the largest numbers that surely fit. */
const DIGITS: Readonly<Record<string, number>> = {
  int8: 2,
  int16: 4,
  int32: 9,
  int64: 15,
  uint8: 2,
  uint16: 4,
  uint32: 9,
  uint64: 15,
};
const MINUS = 0x2d;

export function cellKinds(type: RecordType, forms: CellForms): KindOf {
  const canBecome = (kind: number): boolean => kind === NUMBER || (kind === TEXT && forms.texts);
  switch (type.kind) {
    case 'utf8':
      return (_bytes, _start, _end, kind) => (kind >= TEXT ? kind : MISSING);
    case 'bool':
      return (bytes, start, end, kind) =>
        kind === TRUE || kind === FALSE
          ? kind
          : kind === TEXT && forms.texts
            ? booleanAt(bytes, start, end)
            : MISSING;
    case 'float32':
    case 'float64':
      return (bytes, start, end, kind) =>
        canBecome(kind) && (isInteger(bytes, start, end) || isFraction(bytes, start, end))
          ? NUMBER
          : MISSING;
    case 'decimal': {
      const { precision = Infinity, scale = 0 } = type;
      const room =
        type.precision === undefined
          ? { whole: Infinity, fraction: Infinity }
          : { whole: precision - scale, fraction: scale };
      return (bytes, start, end, kind) =>
        (canBecome(kind) || kind === TEXT) && isDecimal(bytes, start, end, room) ? TEXT : MISSING;
    }
    case 'date':
      return (bytes, start, end, kind) =>
        kind === TEXT && isDate(bytes, start, end) ? TEXT : MISSING;
    case 'timestamp': {
      const form = { isInstant: type.zone !== undefined, digits: UNIT_DIGITS[type.unit] };
      return (bytes, start, end, kind) =>
        kind === TEXT && isMoment(bytes, start, end, form) ? TEXT : MISSING;
    }
    case 'json':
      return (_bytes, _start, _end, kind) => (forms.fromText ? MISSING : kind);
    default:
      return wholeKind(type.kind, canBecome);
  }
}

function wholeKind(name: string, canBecome: (kind: number) => boolean): KindOf {
  const most = DIGITS[name];
  if (most === undefined) return () => MISSING;
  const isSigned = !name.startsWith('u');
  return (bytes, start, end, kind) => {
    if (!canBecome(kind) || !isInteger(bytes, start, end)) return MISSING;
    const isNegative = bytes[start] === MINUS;
    return end - start - (isNegative ? 1 : 0) <= most && (isSigned || !isNegative)
      ? NUMBER
      : MISSING;
  };
}

function booleanAt(bytes: Uint8Array, start: number, end: number): number {
  if (reads(bytes, start, end, 'true')) return TRUE;
  return reads(bytes, start, end, 'false') ? FALSE : MISSING;
}
