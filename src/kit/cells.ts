/** Single cells of columns: reads their values, and makes columns from new values. */
import { RecordError } from '../lib/errors.ts';
import { sourceText } from '../lib/text/json-literal.ts';
import { isObject, parseData, parseJson, stringifyJson, type JsonValue } from '../lib/text/json.ts';
import { readerOf, type FieldPath } from './field-path.ts';
import {
  ESCAPED,
  FALSE,
  MISSING,
  NESTED,
  NULL,
  NUMBER,
  TEXT,
  TRUE,
  type Column,
  type Columns,
} from './columns.ts';

const MINUS = 0x2d;
const POINT = 0x2e;
const ZERO = 0x30;
const NINE = 0x39;
/**
 * A number with this many digits is exact in a double, and so is its quotient by a power of ten.
 */
const EXACT_DIGITS = 15;
const POWERS = Array.from({ length: EXACT_DIGITS + 1 }, (_, digits) => 10 ** digits);

/** Reads the values of one column; `undefined` where a record does not have the field. */
export type CellValues = (row: number) => JsonValue | undefined;

export function valuesOf({ cells }: Columns, { starts, ends, kinds }: Column): CellValues {
  return (row) =>
    readCell(cells.bytes, starts[row] as number, ends[row] as number, kinds[row] as number);
}

/** Reads the values at a path, like `readerOf` does in records. */
export function columnReader(columns: Columns, [name = '', ...below]: FieldPath): CellValues {
  const column = columns.column(name);
  if (column === undefined) return () => undefined;
  const read = valuesOf(columns, column);
  if (below.length === 0) return read;
  const readBelow = readerOf(below);
  return (row) => readBelow(read(row) ?? null);
}

/**
 * The rows whose value at a path fulfils `holds`. Null, booleans and missing values are decided
 * once for all rows.
 */
export function rowsWhere(
  columns: Columns,
  path: FieldPath,
  holds: (value: JsonValue | undefined) => boolean,
): Uint32Array {
  const valueAt = columnReader(columns, path);
  const [name = ''] = path;
  const kinds = path.length === 1 ? columns.column(name)?.kinds : undefined;
  const verdicts = [undefined, null, false, true].map((value) => holds(value));
  const { rows } = columns;
  const found = new Uint32Array(rows.length);
  let count = 0;
  for (let index = 0; index < rows.length; index += 1) {
    const row = rows[index] as number;
    const kind = kinds === undefined ? NUMBER : (kinds[row] as number);
    if (kind <= TRUE ? verdicts[kind] === true : holds(valueAt(row))) {
      found[count] = row;
      count += 1;
    }
  }
  return found.subarray(0, count);
}

// Called for single cells in hot loops: an object for the arguments would cost time.
// oxlint-disable-next-line max-params
export function readCell(
  bytes: Buffer,
  start: number,
  end: number,
  kind: number,
): JsonValue | undefined {
  switch (kind) {
    case MISSING:
      return undefined;
    case NULL:
      return null;
    case FALSE:
      return false;
    case TRUE:
      return true;
    case NUMBER:
      return readNumber(bytes, start, end);
    case NESTED:
      return parseData(bytes.toString('utf8', start, end));
    case ESCAPED:
      return JSON.parse(`"${bytes.toString('utf8', start, end)}"`) as string;
    default:
      return bytes.toString('utf8', start, end);
  }
}

/** The text of a scalar, as it is written inside a string. */
// oxlint-disable-next-line max-params
export function readText(bytes: Buffer, start: number, end: number, kind: number): string {
  return kind === ESCAPED
    ? (readCell(bytes, start, end, kind) as string)
    : bytes.toString('utf8', start, end);
}

/** Computes plain digits directly; numbers with an exponent or many digits are parsed. */
export function readNumber(bytes: Buffer, start: number, end: number): number | bigint {
  let at = start;
  const isNegative = bytes[at] === MINUS;
  if (isNegative) at += 1;
  let value = 0;
  let point = end;
  const first = at;
  for (; at < end; at += 1) {
    const byte = bytes[at] as number;
    if (byte >= ZERO && byte <= NINE) value = value * 10 + (byte - ZERO);
    else if (byte === POINT && point === end) point = at;
    else break;
  }
  if (at < end || end - first > EXACT_DIGITS)
    return parseJson(bytes.toString('latin1', start, end)) as number | bigint;
  const size = point === end ? value : value / (POWERS[end - point - 1] as number);
  return isNegative ? -size : size;
}

/** A column that is being built; cells that are not set are missing. */
export class ColumnBuilder implements Column {
  readonly starts: Uint32Array;
  readonly ends: Uint32Array;
  readonly kinds: Uint8Array;
  readonly #cells: Columns['cells'];

  constructor({ height, cells }: Columns) {
    this.starts = new Uint32Array(height);
    this.ends = new Uint32Array(height);
    this.kinds = new Uint8Array(height);
    this.#cells = cells;
  }

  /** Copies the cell of another column of the page. */
  copy(row: number, from: Column): void {
    this.starts[row] = from.starts[row] as number;
    this.ends[row] = from.ends[row] as number;
    this.kinds[row] = from.kinds[row] as number;
  }

  /** Sets a cell whose bytes were just added to the page, from `start` on. */
  mark(row: number, start: number, kind: number): void {
    this.starts[row] = start;
    this.ends[row] = this.#cells.length;
    this.kinds[row] = kind;
  }

  /** Throws for a value that cells cannot hold exactly; its page has to be processed as records. */
  set(row: number, value: JsonValue | undefined): void {
    if (typeof value === 'string') this.#setText(row, value);
    else if (value === undefined) this.kinds[row] = MISSING;
    else {
      if (!isExactInCells(value))
        throw new RecordError(
          'Transform',
          'a number would change its type when read back from its text',
        );
      const text = stringifyJson(value);
      this.#write(row, text, kindOf(value, text));
    }
  }

  /** Sets a text of ASCII characters that needs no escape. */
  setPlain(row: number, text: string): void {
    const cells = this.#cells;
    const start = cells.length;
    cells.ensure(text.length);
    cells.length += cells.bytes.write(text, start, 'latin1');
    this.mark(row, start, TEXT);
  }

  #setText(row: number, text: string): void {
    if (!MAY_NEED_ESCAPE.test(text)) {
      this.#write(row, text, TEXT);
      return;
    }
    const spelled = JSON.stringify(text).slice(1, -1);
    this.#write(row, spelled, spelled === text ? TEXT : ESCAPED);
  }

  #write(row: number, text: string, kind: number): void {
    const cells = this.#cells;
    const start = cells.length;
    cells.ensure(text.length * MAX_BYTES_A_UNIT);
    cells.length += cells.bytes.write(text, start);
    this.mark(row, start, kind);
  }
}

/**
 * Whether a value keeps its type when it is read back from its text: a whole double beyond the safe
 * range would become a bigint, and negative zero would become zero. A document that remembers its
 * text would forget it.
 */
export function isExactInCells(value: JsonValue): boolean {
  if (typeof value === 'number')
    return !Number.isInteger(value) || (Number.isSafeInteger(value) && !Object.is(value, -0));
  if (sourceText(value) !== undefined) return false;
  if (Array.isArray(value)) return value.every(isExactInCells);
  return !isObject(value) || Object.values(value).every(isExactInCells);
}

// oxlint-disable-next-line no-control-regex
const MAY_NEED_ESCAPE = /["\\\u0000-\u001f\ud800-\udfff]/;
/** UTF-8 bytes that one UTF-16 code unit can become. */
const MAX_BYTES_A_UNIT = 3;

function kindOf(value: Exclude<JsonValue, string>, text: string): number {
  if (typeof value === 'boolean') return value ? TRUE : FALSE;
  // Infinity and NaN are written as null.
  if (text === 'null') return NULL;
  return typeof value === 'object' ? NESTED : NUMBER;
}

/** A column with the same value in every row. */
export function constantColumn(columns: Columns, value: JsonValue): Column {
  const builder = new ColumnBuilder(columns);
  if (columns.height === 0) return builder;
  builder.set(0, value);
  builder.starts.fill(builder.starts[0] as number);
  builder.ends.fill(builder.ends[0] as number);
  builder.kinds.fill(builder.kinds[0] as number);
  return builder;
}

/** A column with `change` applied to every value. */
export function mappedColumn(
  columns: Columns,
  column: Column,
  change: (value: JsonValue) => JsonValue,
): Column {
  const builder = new ColumnBuilder(columns);
  const read = valuesOf(columns, column);
  for (const row of columns.rows) {
    const value = read(row);
    if (value !== undefined) builder.set(row, change(value));
  }
  return builder;
}

/**
 * Whether the number of Unicode characters is in the range. Characters are counted only where the
 * number of bytes does not decide it.
 */
// oxlint-disable-next-line max-params
export function hasCharacters(
  bytes: Uint8Array,
  start: number,
  end: number,
  { min, max }: { min: number; max: number },
): boolean {
  const size = end - start;
  if (size < min || size > max * MAX_BYTES_A_CHARACTER) return false;
  if (size <= max && size >= min * MAX_BYTES_A_CHARACTER) return true;
  let characters = size;
  for (let at = start; at < end; at += 1)
    if (((bytes[at] as number) & CONTINUATION_MASK) === CONTINUATION) characters -= 1;
  return characters >= min && characters <= max;
}

const MAX_BYTES_A_CHARACTER = 4;
/** Continuation bytes of UTF-8: they do not start a character. */
const CONTINUATION = 0x80;
const CONTINUATION_MASK = 0xc0;
