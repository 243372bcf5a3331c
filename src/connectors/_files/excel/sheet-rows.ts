import { isExactDouble } from '../../../kit/column-type.ts';
import { isTrue, notReadable, RichText, unescaped, type Workbook } from './workbook.ts';
import type { NumberKind } from './number-formats.ts';
import { serialText } from './serial-dates.ts';

/** Cells of a row by column from 0; what is empty is absent. */
export type SheetRow = ReadonlyMap<number, SheetValue>;
type SheetValue = string | number | bigint | boolean;

const MAX_COLUMNS = 16_384;
const MAX_ROWS = 1_048_576;
const NUMBER = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/;

export interface SheetRows {
  /** Those that have cells with values, by number from 1. */
  readonly rows: ReadonlyMap<number, SheetRow>;
  /** The address of the first formula without a value; programs without a calculator write them. */
  readonly uncomputed: string | undefined;
}

export function sheetRows(workbook: Workbook, part: string, name: string): SheetRows {
  const reader = new RowReader(workbook, name);
  workbook.read(part, {
    open: (element, attributes) => reader.open(element, attributes),
    text: (text) => reader.text(text),
    close: (element) => reader.close(element),
  });
  return reader;
}

interface Cell {
  readonly column: number;
  readonly type: string;
  readonly style: number;
}

class RowReader {
  readonly rows = new Map<number, SheetRow>();
  uncomputed: string | undefined;
  readonly #name: string;
  readonly #is1904: boolean;
  readonly #strings: readonly string[];
  readonly #kinds: readonly NumberKind[];
  readonly #inline = new RichText();
  #inData = false;
  #row = 0;
  #column = -1;
  #cells = new Map<number, SheetValue>();
  #cell: Cell | undefined;
  /** The text of `<v>`; absent without that element. */
  #value: string | undefined;
  #inValue = false;
  #hasInline = false;
  #isFormula = false;

  constructor(workbook: Workbook, name: string) {
    this.#name = name;
    this.#is1904 = workbook.is1904;
    ({ strings: this.#strings, kinds: this.#kinds } = workbook.tables());
  }

  open(element: string, attributes: Readonly<Record<string, string>>): void {
    if (element === 'sheetData') this.#inData = true;
    // Places of buttons, which stand behind the data, have elements with the same names.
    if (!this.#inData) return;
    if (element === 'row') this.#startRow(attributes['r']);
    else if (element === 'c') this.#startCell(attributes);
    else if (element === 'v') {
      this.#inValue = true;
      this.#value = '';
    } else if (element === 'is') this.#hasInline = true;
    else if (element === 'f') this.#isFormula = true;
    if (this.#hasInline) this.#inline.open(element);
  }

  text(text: string): void {
    if (this.#inValue) this.#value += text;
    else if (this.#hasInline) this.#inline.text(text);
  }

  close(element: string): void {
    if (this.#hasInline) this.#inline.close(element);
    if (element === 'sheetData') this.#inData = false;
    if (!this.#inData) return;
    if (element === 'v') this.#inValue = false;
    else if (element === 'c') this.#endCell();
    else if (element === 'row' && this.#cells.size > 0) this.rows.set(this.#row, this.#cells);
  }

  /** Rows and cells that do not say where they are follow the one before. */
  #startRow(number: string | undefined): void {
    this.#row = number === undefined ? this.#row + 1 : Number(number);
    if (!(Number.isInteger(this.#row) && this.#row >= 1 && this.#row <= MAX_ROWS))
      throw notReadable(this.#name, `${JSON.stringify(number)} is no number of a row`);
    if (this.rows.has(this.#row))
      throw notReadable(this.#name, `it has two rows with the number ${this.#row}`);
    this.#column = -1;
    this.#cells = new Map();
  }

  #startCell({
    r: address,
    t: type = 'n',
    s: style = '0',
  }: Readonly<Record<string, string>>): void {
    this.#column = address === undefined ? this.#column + 1 : columnOf(address);
    if (!(this.#column >= 0 && this.#column < MAX_COLUMNS))
      throw notReadable(this.#name, `${JSON.stringify(address)} is no address of a cell`);
    this.#cell = { column: this.#column, type, style: Number(style) };
    this.#value = undefined;
    this.#hasInline = false;
    this.#isFormula = false;
  }

  #endCell(): void {
    const cell = this.#cell;
    if (cell === undefined) return;
    const inline = this.#inline.take();
    const text = this.#value;
    let value: SheetValue | undefined;
    if (cell.type === 'inlineStr' && this.#hasInline) value = inline;
    else if (text !== undefined) value = this.#valueOf(cell, text);
    if (value === undefined && this.#isFormula)
      this.uncomputed ??= addressOf(cell.column, this.#row);
    if (value !== undefined && this.#cells.has(cell.column)) this.#damaged(cell, 'is there twice');
    if (value !== undefined) this.#cells.set(cell.column, value);
    this.#cell = undefined;
    this.#hasInline = false;
  }

  #valueOf(cell: Cell, text: string): SheetValue | undefined {
    switch (cell.type) {
      case 's':
        if (text.trim() === '') return undefined;
        return (
          this.#strings[Number(text)] ?? this.#damaged(cell, 'refers to a text that is missing')
        );
      case 'str':
      case 'inlineStr':
        return unescaped(text);
      // An error such as #N/A is a text here: it is what the sheet shows, and no number.
      case 'e':
        return text;
      case 'b':
        return this.#truth(cell, text.trim());
      case 'd':
        return isoDate(text.trim());
      default:
        return text.trim() === '' ? undefined : this.#number(cell, text);
    }
  }

  #number(cell: Cell, text: string): string | number | bigint {
    const number = Number(text);
    if (!NUMBER.test(text.trim()) || !Number.isFinite(number))
      return this.#damaged(cell, 'holds no number');
    const kind = this.#kinds[cell.style] ?? 'number';
    if (kind === 'number') return wholeNumber(text.trim()) ?? number;
    return serialText(number, kind, this.#is1904) ?? number;
  }

  #truth(cell: Cell, text: string): boolean | undefined {
    if (text === '') return undefined;
    const value = isTrue(text);
    return value || text === '0' || text === 'false' || text === 'off'
      ? value
      : this.#damaged(cell, 'holds neither 0 nor 1');
  }

  #damaged(cell: Cell, why: string): never {
    throw notReadable(this.#name, `the cell ${addressOf(cell.column, this.#row)} ${why}`);
  }
}

/** Other programs than Excel write more digits of a whole number than a double holds. */
function wholeNumber(text: string): bigint | undefined {
  if (!/^-?\d{16,}$/.test(text)) return undefined;
  const whole = BigInt(text);
  return isExactDouble(whole) ? undefined : whole;
}

/** Cells of the type `d` hold ISO 8601 text; a date gets the form that other dates have. */
function isoDate(text: string): string {
  if (!/^\d{4}-\d\d-\d\d/.test(text)) return text;
  const hasZone = /(?:Z|[+-]\d\d:\d\d)$/.test(text) || !text.includes('T');
  const time = new Date(hasZone ? text : `${text}Z`);
  if (Number.isNaN(time.getTime())) return text;
  const digits = /\.(\d{4,})/.exec(text)?.[1];
  return digits === undefined ? time.toISOString() : `${time.toISOString().slice(0, -4)}${digits}Z`;
}

/** `B7` is in column 1. */
function columnOf(address: string): number {
  let column = 0;
  for (const letter of /^[A-Z]+/.exec(address)?.[0] ?? '')
    column = column * 26 + letter.charCodeAt(0) - 64;
  return column - 1;
}

function addressOf(column: number, row: number): string {
  let letters = '';
  for (let left = column + 1; left > 0; left = Math.floor((left - 1) / 26))
    letters = String.fromCharCode(65 + ((left - 1) % 26)) + letters;
  return `${letters}${row}`;
}
