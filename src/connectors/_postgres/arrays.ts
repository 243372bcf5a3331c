/** Arrays in the text form of the server: `{1,NULL,"a b"}`. */
import type { JsonValue } from '../../lib/text/json.ts';
import { keepNegativeZeros } from '../../lib/text/number-spelling.ts';

export interface ArrayType {
  /** The type of its items, by its number. */
  readonly item: number;
  /** What stands between two items: a comma, or a semicolon for boxes. */
  readonly delimiter: string;
}

/** Array types of the catalog of every server, with the types of their items. */
const ITEMS: Readonly<Record<number, number>> = {
  143: 142,
  199: 114,
  651: 650,
  791: 790,
  1000: 16,
  1001: 17,
  1002: 18,
  1003: 19,
  1005: 21,
  1007: 23,
  1009: 25,
  1014: 1042,
  1015: 1043,
  1016: 20,
  1021: 700,
  1022: 701,
  1028: 26,
  1040: 829,
  1041: 869,
  1115: 1114,
  1182: 1082,
  1183: 1083,
  1185: 1184,
  1187: 1186,
  1231: 1700,
  1270: 1266,
  1563: 1562,
  2951: 2950,
  3807: 3802,
};

export function knownArray(oid: number): ArrayType | undefined {
  const item = ITEMS[oid];
  return item === undefined ? undefined : { item, delimiter: ',' };
}

/** The delimiter of an array type by its name in a statement, such as `box[]`. */
export function delimiterOf(sqlType: string): string {
  return sqlType === 'box[]' ? ';' : ',';
}

/**
 * The items as a list, of several dimensions as lists in lists. An array whose first item does not
 * have the number one keeps its text (`[2:3]={5,6}`), because a list cannot say that.
 */
export function decodeArray(
  text: string,
  delimiter: string,
  item: (text: string) => JsonValue,
): JsonValue {
  return text.startsWith('{') ? new ArrayReader(text, delimiter, item).list() : text;
}

class ArrayReader {
  readonly #text: string;
  readonly #delimiter: string;
  readonly #item: (text: string) => JsonValue;
  #at = 0;

  constructor(text: string, delimiter: string, item: (text: string) => JsonValue) {
    this.#text = text;
    this.#delimiter = delimiter;
    this.#item = item;
  }

  list(): JsonValue[] {
    const items: JsonValue[] = [];
    this.#at += 1;
    while (this.#at < this.#text.length && this.#text[this.#at] !== '}') {
      items.push(this.#next());
      if (this.#text[this.#at] === this.#delimiter) this.#at += 1;
    }
    this.#at += 1;
    return keepNegativeZeros(items);
  }

  #next(): JsonValue {
    const first = this.#text[this.#at];
    if (first === '{') return this.list();
    if (first === '"') return this.#item(this.#quoted());
    const from = this.#at;
    while (!this.#isEnd(this.#text[this.#at])) this.#at += 1;
    const text = this.#text.slice(from, this.#at);
    // Without quotes it is the null, and never the text.
    return text === 'NULL' ? null : this.#item(text);
  }

  #isEnd(char: string | undefined): boolean {
    return char === undefined || char === this.#delimiter || char === '}';
  }

  #quoted(): string {
    let text = '';
    let from = this.#at + 1;
    for (let at = from; ; at += 1) {
      const char = this.#text[at];
      if (char === '\\') {
        text += this.#text.slice(from, at);
        from = at + 1;
        at += 1;
      } else if (char === '"' || char === undefined) {
        this.#at = at + 1;
        return text + this.#text.slice(from, at);
      }
    }
  }
}
