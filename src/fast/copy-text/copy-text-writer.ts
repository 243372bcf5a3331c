/**
 * Converts rows in the text format of COPY to JSON byte by byte. The output is that of the same row
 * as a record; values that need more care (exponents, `json`, exact decimals inside `jsonb`) go
 * through the decoder of their type.
 */
import {
  ESCAPED,
  FALSE as IS_FALSE,
  NESTED,
  NULL as IS_NULL,
  NUMBER,
  TEXT,
  TRUE as IS_TRUE,
} from '../../kit/columns.ts';
import { isExactInCells } from '../../kit/cells.ts';
import { stringifyField, type JsonValue } from '../../lib/text/json.ts';
import {
  CONTROLS,
  FALSE,
  isSpecial,
  leadOf,
  mostBytes,
  NULL,
  put,
  putPair,
  putWords,
  SPECIAL,
  TRUE,
  VERTICAL_TAB,
  WORD,
  wordsOf,
  type Lead,
} from '../json/line-bytes.ts';
import { PlainJson } from '../json/plain-json.ts';
import { isPlainDecimal } from './plain-decimal.ts';

const TAB = 9;
const NEWLINE = 10;
const BACKSLASH = 92;
const QUOTE = 34;
const SPACE = 32;
const COMMA = 44;
const MINUS = 45;
const ZERO = 48;
const NINE = 57;
const COLON = 58;
const NULL_MARK = 78;
const LETTER_N = 110;
const OPEN_LIST = 91;
const OPEN_OBJECT = 123;
const NO_VALUE = -1;

/**
 * How the text of a field becomes JSON: a string, as it stands, as it stands where it is a plain
 * decimal, a truth value, a time without or with its zone (UTC), compact JSON of a server that has
 * read it, an object or a list as it stands where it is plain JSON, or by its type.
 */
export type FieldForm =
  | 'text'
  | 'bare'
  | 'float'
  | 'bool'
  | 'moment'
  | 'zoned'
  | 'jsonb'
  | 'json'
  | 'decoded';

export interface CopyField {
  readonly name: string;
  readonly form: FieldForm;
  /** The value of the field from one place to another: what every form falls back on. */
  readonly decode: (rows: Buffer, from: number, to: number) => JsonValue;
}

interface ColumnWriter extends Lead {
  readonly form: FieldForm;
  readonly decode: CopyField['decode'];
}

/** Collects JSON Lines; grows as it needs. */
export class CopyTextWriter {
  readonly #columns: readonly ColumnWriter[];
  readonly #frame: number;
  #out: Buffer;
  #outWords: DataView;
  #length = 0;
  readonly #plain = new PlainJson();
  #rowEnd = 0;
  /** Whether the last value holds an escape. */
  #escaped = false;
  /** The last value, where it was decoded. */
  #decodedValue: JsonValue | undefined;
  #rows: Buffer | undefined;
  #rowWords: DataView = new DataView(new ArrayBuffer(0));

  constructor(fields: readonly CopyField[], capacity: number) {
    this.#columns = fields.map(({ name, form, decode }, index) => ({
      ...leadOf(name, index),
      form,
      decode,
    }));
    this.#frame = this.#columns.reduce((sum, column) => sum + column.leadBytes + 4, 4 + WORD);
    this.#out = Buffer.allocUnsafeSlow(capacity);
    this.#outWords = wordsOf(this.#out);
  }

  get length(): number {
    return this.#length;
  }

  /** What was collected; the writer goes on in `next`. */
  take(next: Buffer): Buffer {
    const block = this.#out.subarray(0, this.#length);
    this.#goOnIn(next);
    this.#length = 0;
    return block;
  }

  /** Adds the row from `from` up to its newline at `to`. */
  row(rows: Buffer, from: number, to: number): void {
    this.#begin(rows, from, to);
    let at = from;
    const columns = this.#columns;
    for (let index = 0; index < columns.length; index += 1) {
      const column = columns[index] as ColumnWriter;
      this.#length = putWords(this.#outWords, this.#length, column);
      at = this.#field(column, rows, at) + 1;
    }
    const out = this.#out;
    if (columns.length === 0) out[this.#length++] = 123;
    out[this.#length++] = 125;
    out[this.#length++] = NEWLINE;
  }

  /**
   * Adds only the values of a row. `mark` is called with the place of each, and with the value itself
   * where a cell cannot hold it.
   */
  cells(rows: Buffer, from: number, mark: MarkCell, to: number): void {
    this.#begin(rows, from, to);
    let at = from;
    const columns = this.#columns;
    for (let index = 0; index < columns.length; index += 1) {
      const start = this.#length;
      this.#escaped = false;
      this.#decodedValue = undefined;
      at = this.#field(columns[index] as ColumnWriter, rows, at) + 1;
      const kind = kindOf(this.#out[start] as number, this.#escaped);
      const value = this.#decodedValue as JsonValue | undefined;
      if (value === undefined || isExactInCells(value)) mark(index, start, this.#length, kind);
      else mark(index, start, this.#length, kind, value);
    }
  }

  #begin(rows: Buffer, from: number, to: number): void {
    this.#rowEnd = to;
    if (rows !== this.#rows) {
      this.#rows = rows;
      this.#rowWords = wordsOf(rows);
    }
    this.#reserve(this.#frame + mostBytes(rows, from, to));
  }

  /** Writes one value; gives the place of the tab or newline after it. */
  #field({ form, decode }: ColumnWriter, rows: Buffer, from: number): number {
    if (rows[from] === BACKSLASH && rows[from + 1] === NULL_MARK) {
      this.#length = put(this.#out, this.#length, NULL);
      return from + 2;
    }
    if (form === 'text') return this.#text(rows, from);
    // A JSON null is not the null of the column.
    if (form === 'jsonb' && rows[from] !== LETTER_N) {
      const end = this.#jsonb(rows, from);
      if (end !== NO_VALUE) return end;
    }
    if (form === 'bare') return this.#bare(rows, from);
    const start = this.#length;
    if (form === 'float') {
      const end = this.#bare(rows, from);
      if (isPlainDecimal(rows, from, end)) return end;
      this.#length = start;
    }
    const end = fieldEnd(rows, from);
    if (form === 'json' && this.#plainJson(rows, from, end)) return end;
    if (form === 'bool')
      this.#length = put(this.#out, this.#length, rows[from] === 116 ? TRUE : FALSE);
    else if (
      !((form === 'zoned' || form === 'moment') && this.#moment(rows, from, end, form === 'zoned'))
    ) {
      this.#decodedValue = decode(rows, from, end);
      this.#decoded(stringifyField(this.#decodedValue), mostBytes(rows, end, this.#rowEnd));
    }
    return end;
  }

  /** The field as it stands. */
  #bare(rows: Buffer, from: number): number {
    const out = this.#out;
    let length = this.#length;
    let at = from;
    for (
      let byte = rows[at] as number;
      byte !== TAB && byte !== NEWLINE;
      byte = rows[++at] as number
    )
      out[length++] = byte;
    this.#length = length;
    return at;
  }

  #text(rows: Buffer, from: number): number {
    const [out, outWords, rowWords] = [this.#out, this.#outWords, this.#rowWords];
    const lastWord = rowWords.byteLength - WORD;
    let length = this.#length;
    let at = from;
    out[length++] = QUOTE;
    for (;;) {
      for (; at <= lastWord; at += WORD, length += WORD) {
        const word = rowWords.getInt32(at, true);
        if (isSpecial(word)) break;
        outWords.setInt32(length, word, true);
      }
      let byte = rows[at] as number;
      while (SPECIAL[byte] === 0) {
        out[length++] = byte;
        byte = rows[++at] as number;
      }
      if (byte === TAB || byte === NEWLINE) break;
      at += 1;
      this.#escaped = true;
      if (byte === BACKSLASH) {
        const escaped = rows[at++] as number;
        // \b \f \n \r \t and the backslash are escaped alike in COPY and JSON; a vertical tab has no
        // short escape in JSON.
        length = escaped === 118 ? put(out, length, VERTICAL_TAB) : putPair(out, length, escaped);
      } else if (byte === QUOTE) length = putPair(out, length, QUOTE);
      else length = put(out, length, CONTROLS[byte] as Uint8Array);
    }
    out[length++] = QUOTE;
    this.#length = length;
    return at;
  }

  #copy(from: number, to: number): void {
    const [rows, out] = [this.#rowWords, this.#outWords];
    const last = Math.min(to, rows.byteLength - WORD + 1);
    let at = from;
    for (; at < last; at += WORD)
      out.setInt32(this.#length + at - from, rows.getInt32(at, true), true);
    for (; at < to; at += 1) out.setUint8(this.#length + at - from, rows.getUint8(at));
    this.#length += to - from;
  }

  /**
   * `2024-05-06 07:08:09+00` as RFC 3339; false for values that RFC 3339 cannot express. The time zone
   * of the session is UTC.
   */
  // oxlint-disable-next-line max-params
  #moment(rows: Buffer, from: number, to: number, zoned: boolean): boolean {
    if (
      to - from < 19 ||
      rows[from + 4] !== MINUS ||
      rows[from + 10] !== SPACE ||
      rows[to - 1] === 67
    )
      return false;
    const end = zoned ? to - 3 : to;
    if (zoned && (rows[end] !== 43 || rows[end + 1] !== ZERO || rows[end + 2] !== ZERO))
      return false;
    const out = this.#out;
    out[this.#length++] = QUOTE;
    const start = this.#length;
    this.#copy(from, end);
    out[start + 10] = 84;
    if (zoned) out[this.#length++] = 90;
    out[this.#length++] = QUOTE;
    return true;
  }

  /**
   * The server's text without its spaces, as long as that is the compact JSON of the value: its
   * keys must not look like numbers (objects keep those first), and numbers must be plain.
   * Otherwise nothing is written and `NO_VALUE` returned.
   */
  #jsonb(rows: Buffer, from: number): number {
    const [out, outWords, rowWords] = [this.#out, this.#outWords, this.#rowWords];
    const lastWord = rowWords.byteLength - WORD;
    let length = this.#length;
    let at = from;
    let stringAt = from;
    for (;;) {
      const byte = rows[at] as number;
      if (byte === QUOTE) {
        stringAt = ++at;
        out[length++] = QUOTE;
        for (;;) {
          for (; at <= lastWord; at += WORD, length += WORD) {
            const word = rowWords.getInt32(at, true);
            if (isSpecial(word)) break;
            outWords.setInt32(length, word, true);
          }
          const inner = rows[at] as number;
          out[length++] = inner;
          at += 1;
          if (inner === QUOTE) break;
          if (inner !== BACKSLASH) continue;
          this.#escaped = true;
          // COPY doubles every backslash, so skip the second one and the escaped character.
          const escaped = rows[at + 1] as number;
          out[length++] = escaped;
          at += escaped === BACKSLASH ? 3 : 2;
        }
      } else if (byte === MINUS || (byte >= ZERO && byte <= NINE)) {
        const end = numberEnd(rows, at);
        if (!isPlainDecimal(rows, at, end)) return NO_VALUE;
        for (; at < end; at += 1) out[length++] = rows[at] as number;
      } else if (byte === TAB || byte === NEWLINE) {
        this.#length = length;
        return at;
      } else {
        if (byte === COLON && isDigit(rows[stringAt])) return NO_VALUE;
        if (byte !== SPACE) out[length++] = byte;
        at += 1;
      }
    }
  }

  /**
   * COPY doubles every backslash: one without escapes is the same in both. A null of JSON is not the
   * null of the column.
   */
  #plainJson(rows: Buffer, from: number, to: number): boolean {
    const first = rows[from];
    if (first !== OPEN_OBJECT && first !== OPEN_LIST) return false;
    if (!this.#plain.holds(rows, from, to) || this.#plain.hasEscapes) return false;
    this.#copy(from, to);
    return true;
  }

  #decoded(json: string, rest: number): void {
    this.#escaped = json.includes('\\');
    this.#reserve(this.#frame + Buffer.byteLength(json) + rest);
    this.#length += this.#out.write(json, this.#length);
  }

  #reserve(bytes: number): void {
    const needed = this.#length + bytes;
    if (needed <= this.#out.length) return;
    const larger = Buffer.allocUnsafeSlow(Math.max(needed, this.#out.length * 2));
    this.#out.copy(larger, 0, 0, this.#length);
    this.#goOnIn(larger);
  }

  #goOnIn(out: Buffer): void {
    this.#out = out;
    this.#outWords = wordsOf(out);
  }
}

/** Called for each value; the range of a string includes its quotes. */
// oxlint-disable-next-line max-params
export type MarkCell = (
  column: number,
  start: number,
  end: number,
  kind: number,
  value?: JsonValue,
) => void;

/** What a value is, by its first byte. */
function kindOf(first: number, escaped: boolean): number {
  switch (first) {
    case QUOTE:
      return escaped ? ESCAPED : TEXT;
    case 123:
    case 91:
      return NESTED;
    case 110:
      return IS_NULL;
    case 116:
      return IS_TRUE;
    case 102:
      return IS_FALSE;
    default:
      return NUMBER;
  }
}

/** Where the field that starts at `from` ends: at a tab or at the end of its row. */
function fieldEnd(rows: Uint8Array, from: number): number {
  let at = from;
  for (;;) {
    const byte = rows[at];
    if (byte === TAB || byte === NEWLINE || byte === undefined) return at;
    at += 1;
  }
}

function isDigit(byte: number | undefined): boolean {
  return byte !== undefined && byte >= ZERO && byte <= NINE;
}

function numberEnd(rows: Uint8Array, from: number): number {
  let at = from + 1;
  for (;;) {
    const byte = rows[at] as number;
    if (
      byte === COMMA ||
      byte === TAB ||
      byte === NEWLINE ||
      byte === 93 ||
      byte === 125 ||
      byte === SPACE
    )
      return at;
    at += 1;
  }
}
