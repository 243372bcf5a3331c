/** Marks the cells of lines that hold objects with known keys. */
import { ESCAPED, FALSE, MISSING, NESTED, NULL, NUMBER, TEXT, TRUE } from '../../../kit/columns.ts';
import { isObject, type JsonValue } from '../../../lib/text/json.ts';
import type { CellMarks } from '../../../kit/cell-marks.ts';
import { CompactJson, ESCAPES, STRING_STOPS } from './compact-json.ts';

const TAB = 0x09;
const LINE_FEED = 0x0a;
const RETURN = 0x0d;
const SPACE = 0x20;
const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const BACKSLASH = 0x5c;
const OPEN_LIST = 0x5b;
const LOWER_F = 0x66;
const LOWER_N = 0x6e;
const LOWER_T = 0x74;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

const UNSURE = -1;
/** With more columns the cells would need more memory than the records. */
export const MOST_COLUMNS = 512;

export interface CellTarget {
  readonly marks: CellMarks;
  readonly row: number;
  /** Distance from the position of the line to the position its bytes will have. */
  readonly shift: number;
}

export class LineCells {
  readonly names: readonly string[];
  /**
   * Whether all cells marked so far are separated only by `,"name":` and quotes, and only the last
   * names are missing.
   */
  areJoined = true;
  /** The names as JSON texts. */
  readonly #labels: readonly Uint8Array[];
  readonly #compact = new CompactJson();
  /** Whether the last text has escapes. */
  #kind = TEXT;

  constructor(names: readonly string[]) {
    this.names = names;
    this.#labels = names.map((name) => Buffer.from(JSON.stringify(name)));
  }

  /**
   * Marks the cells of the line that starts at `start`. Returns the position of its line feed or of
   * the end of the bytes; -1 when the line must be parsed, because its keys are not a subset of the
   * names in their order, or a value is not in canonical form.
   */
  mark(bytes: Uint8Array, start: number, target: CellTarget): number {
    let at = spaceEnd(bytes, start);
    if (bytes[at] !== OPEN_OBJECT) return UNSURE;
    at = this.#skip(bytes, at + 1);
    const width = this.#labels.length;
    let column = 0;
    if (bytes[at] === CLOSE_OBJECT) return this.#end(bytes, at, column, target);
    for (;;) {
      const found = this.#columnAt(bytes, at, column);
      if (found === width) return UNSURE;
      for (; column < found; column += 1) this.#miss(column, target);
      at = this.#skip(bytes, at + (this.#labels[found] as Uint8Array).length);
      if (bytes[at] !== COLON) return UNSURE;
      at = this.#cell(bytes, this.#skip(bytes, at + 1), found, target);
      if (at === UNSURE) return UNSURE;
      column = found + 1;
      at = this.#skip(bytes, at);
      if (bytes[at] === CLOSE_OBJECT) return this.#end(bytes, at, column, target);
      if (bytes[at] !== COMMA) return UNSURE;
      at = this.#skip(bytes, at + 1);
    }
  }

  #skip(bytes: Uint8Array, at: number): number {
    const end = spaceEnd(bytes, at);
    if (end !== at) this.areJoined = false;
    return end;
  }

  /** Marks a missing name that is followed by a later one. */
  #miss(column: number, target: CellTarget): void {
    markMissing(column, target);
    this.areJoined = false;
  }

  /**
   * The column whose name is at this position, searched from `column` on; the number of columns
   * when there is none.
   */
  #columnAt(bytes: Uint8Array, at: number, column: number): number {
    while (
      column < this.#labels.length &&
      !startsWith(bytes, at, this.#labels[column] as Uint8Array)
    )
      column += 1;
    return column;
  }

  // Called for single cells: an object for the arguments would cost time.
  // oxlint-disable-next-line max-params
  #cell(
    bytes: Uint8Array,
    start: number,
    column: number,
    { marks, row, shift }: CellTarget,
  ): number {
    const first = bytes[start] as number;
    const isText = first === QUOTE;
    const end = isText ? this.#text(bytes, start + 1) : this.#compact.valueEnd(bytes, start);
    if (end === UNSURE) return UNSURE;
    const to = column * marks.capacity + row;
    marks.starts[to] = start + shift + (isText ? 1 : 0);
    marks.ends[to] = end + shift - (isText ? 1 : 0);
    marks.kinds[to] = isText ? this.#kind : kindOf(first);
    return end;
  }

  /** `at` is after the opening quote. */
  #text(bytes: Uint8Array, at: number): number {
    this.#kind = TEXT;
    for (;;) {
      while (STRING_STOPS[bytes[at] as number] === 0) at += 1;
      const byte = bytes[at];
      if (byte === QUOTE) return at + 1;
      if (byte !== BACKSLASH || ESCAPES[bytes[at + 1] as number] !== 1) return UNSURE;
      this.#kind = ESCAPED;
      at += 2;
    }
  }

  /** `at` is the closing bracket; only white space may follow. */
  // oxlint-disable-next-line max-params
  #end(bytes: Uint8Array, at: number, column: number, target: CellTarget): number {
    for (; column < this.#labels.length; column += 1) markMissing(column, target);
    const end = spaceEnd(bytes, at + 1);
    return end === bytes.length || bytes[end] === LINE_FEED ? end : UNSURE;
  }
}

/**
 * The names followed by the new ones of the value; `undefined` when the value does not fit their
 * order.
 */
export function withKeysOf(
  names: readonly string[],
  value: JsonValue,
): readonly string[] | undefined {
  if (!isObject(value)) return undefined;
  let known = 0;
  const more: string[] = [];
  for (const key of Object.keys(value)) {
    const found = names.indexOf(key);
    if (found === -1) more.push(key);
    else if (found < known || more.length > 0) return undefined;
    else known = found + 1;
  }
  return more.length === 0 ? names : [...names, ...more];
}

function markMissing(column: number, { marks, row }: CellTarget): void {
  const to = column * marks.capacity + row;
  marks.starts[to] = 0;
  marks.ends[to] = 0;
  marks.kinds[to] = MISSING;
}

function kindOf(first: number): number {
  if (first === OPEN_OBJECT || first === OPEN_LIST) return NESTED;
  if (first === LOWER_T) return TRUE;
  if (first === LOWER_F) return FALSE;
  return first === LOWER_N ? NULL : NUMBER;
}

function spaceEnd(bytes: Uint8Array, at: number): number {
  let byte = bytes[at];
  while (byte === SPACE || byte === TAB || byte === RETURN) byte = bytes[(at += 1)];
  return at;
}

function startsWith(bytes: Uint8Array, at: number, text: Uint8Array): boolean {
  for (let index = 0; index < text.length; index += 1)
    if (bytes[at + index] !== text[index]) return false;
  return true;
}
