import { isExactDouble } from '../../../kit/column-type.ts';
import { isTrue, notReadable, RichText, unescaped, type Workbook } from './workbook.ts';
import type { NumberKind } from './number-formats.ts';
import { serialText } from './serial-dates.ts';

/** Cells of a row by column from 0; what is empty is absent. */
export type SheetRow = ReadonlyMap<number, string | number | bigint | boolean>;

const MAX_COLUMNS = 16_384;

/** The rows of a sheet that have cells with values, by number from 1. */
export function sheetRows(workbook: Workbook, part: string, name: string): Map<number, SheetRow> {
  const reader = new RowReader(workbook, name);
  workbook.read(part, {
    open: (element, attributes) => reader.open(element, attributes),
    text: (text) => reader.text(text),
    close: (element) => reader.close(element),
  });
  return reader.rows;
}

interface Cell {
  readonly column: number;
  readonly type: string;
  readonly style: number;
}

class RowReader {
  readonly rows = new Map<number, SheetRow>();
  readonly #name: string;
  readonly #is1904: boolean;
  readonly #strings: readonly string[];
  readonly #kinds: readonly NumberKind[];
  readonly #inline = new RichText();
  #row = 0;
  #column = -1;
  #cells = new Map<number, string | number | bigint | boolean>();
  #cell: Cell | undefined;
  /** The text of `<v>`; absent without that element. */
  #value: string | undefined;
  #inValue = false;
  #hasInline = false;

  constructor(workbook: Workbook, name: string) {
    this.#name = name;
    this.#is1904 = workbook.is1904;
    ({ strings: this.#strings, kinds: this.#kinds } = workbook.tables());
  }

  open(element: string, attributes: Readonly<Record<string, string>>): void {
    if (element === 'row') this.#startRow(attributes['r']);
    else if (element === 'c') this.#startCell(attributes);
    else if (element === 'v') {
      this.#inValue = true;
      this.#value = '';
    } else if (element === 'is') this.#hasInline = true;
    if (this.#hasInline) this.#inline.open(element);
  }

  text(text: string): void {
    if (this.#inValue) this.#value += text;
    else if (this.#hasInline) this.#inline.text(text);
  }

  close(element: string): void {
    if (this.#hasInline) this.#inline.close(element);
    if (element === 'v') this.#inValue = false;
    else if (element === 'c') this.#endCell();
    else if (element === 'row' && this.#cells.size > 0) this.rows.set(this.#row, this.#cells);
  }

  /** Rows and cells that do not say where they are follow the one before. */
  #startRow(number: string | undefined): void {
    this.#row = number === undefined ? this.#row + 1 : Number(number);
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
  }

  #endCell(): void {
    const cell = this.#cell;
    if (cell === undefined) return;
    const inline = this.#inline.take();
    const value =
      cell.type === 'inlineStr'
        ? this.#hasInline
          ? inline
          : undefined
        : this.#value === undefined
          ? undefined
          : this.#valueOf(cell, this.#value);
    if (value !== undefined) this.#cells.set(cell.column, value);
    this.#cell = undefined;
    this.#hasInline = false;
  }

  #valueOf(cell: Cell, text: string): string | number | bigint | boolean | undefined {
    switch (cell.type) {
      case 's':
        return (
          this.#strings[Number(text)] ?? this.#damaged(cell, 'refers to a text that is missing')
        );
      case 'str':
        return unescaped(text);
      // An error such as #N/A is a text here: it is what the sheet shows, and no number.
      case 'e':
        return text;
      case 'b':
        return isTrue(text.trim());
      case 'd':
        return isoDate(text.trim());
      default:
        return text.trim() === '' ? undefined : this.#number(cell, text);
    }
  }

  #number(cell: Cell, text: string): string | number | bigint {
    const number = Number(text);
    if (!Number.isFinite(number)) return this.#damaged(cell, 'holds no number');
    const kind = this.#kinds[cell.style] ?? 'number';
    if (kind === 'number') return wholeNumber(text.trim()) ?? number;
    return serialText(number, kind, this.#is1904) ?? number;
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
  return Number.isNaN(time.getTime()) ? text : time.toISOString();
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
