/** The text of a filter: comparisons of columns, joined by `and`, `or` and `not`. */

export type Literal = string | number | bigint | boolean;
export type Comparator = '=' | '!=' | '<' | '<=' | '>' | '>=';

export type Filter =
  | { readonly is: 'and' | 'or'; readonly parts: readonly Filter[] }
  | { readonly is: 'not'; readonly part: Filter }
  | {
      readonly is: 'compare';
      readonly column: string;
      readonly by: Comparator;
      readonly value: Literal;
    }
  | { readonly is: 'in'; readonly column: string; readonly values: readonly Literal[] }
  | { readonly is: 'null'; readonly column: string }
  | { readonly is: 'starts_with'; readonly column: string; readonly prefix: string };

export class FilterFault extends Error {}

/** What is wrong with a filter, or `undefined`. */
export function filterFault(text: string): string | undefined {
  try {
    parseFilter(text);
    return undefined;
  } catch (error) {
    if (error instanceof FilterFault) return `this is no filter: ${error.message}`;
    throw error;
  }
}

/** Throws `FilterFault`. */
export function parseFilter(text: string): Filter {
  const reader = new FilterReader(tokensOf(text));
  const filter = reader.either();
  reader.end();
  return filter;
}

type Token = { readonly is: 'word' | 'name' | 'text' | 'number' | 'sign'; readonly text: string };

const TOKEN =
  /\s*(?:('(?:[^']|'')*')|"((?:[^"]|"")+)"|(-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)|([A-Za-z_][\w.]*)|(<=|>=|!=|<>|==|[=<>(),]))/y;

function tokensOf(text: string): Token[] {
  const tokens: Token[] = [];
  TOKEN.lastIndex = 0;
  const end = text.trimEnd().length;
  while (TOKEN.lastIndex < end) {
    const at = TOKEN.lastIndex;
    const found = TOKEN.exec(text);
    if (found === null)
      throw new FilterFault(`what stands at character ${at + 1} is not understood`);
    const [, quoted, name, number, word, sign] = found;
    if (quoted !== undefined)
      tokens.push({ is: 'text', text: quoted.slice(1, -1).replaceAll("''", "'") });
    else if (name !== undefined) tokens.push({ is: 'name', text: name.replaceAll('""', '"') });
    else if (number !== undefined) tokens.push({ is: 'number', text: number });
    else if (word !== undefined) tokens.push({ is: 'word', text: word });
    else tokens.push({ is: 'sign', text: sign ?? '' });
  }
  return tokens;
}

const COMPARATORS: Readonly<Record<string, Comparator>> = {
  '=': '=',
  '==': '=',
  '!=': '!=',
  '<>': '!=',
  '<': '<',
  '<=': '<=',
  '>': '>',
  '>=': '>=',
};

class FilterReader {
  readonly #tokens: readonly Token[];
  #at = 0;

  constructor(tokens: readonly Token[]) {
    this.#tokens = tokens;
  }

  either(): Filter {
    return this.#joined('or', () => this.#both());
  }

  end(): void {
    const token = this.#tokens[this.#at];
    if (token !== undefined) throw new FilterFault(`\`${token.text}\` stands behind its end`);
  }

  #both(): Filter {
    return this.#joined('and', () => this.#one());
  }

  #joined(is: 'and' | 'or', next: () => Filter): Filter {
    const parts = [next()];
    while (this.#takes(is)) parts.push(next());
    const [only] = parts;
    return parts.length === 1 && only !== undefined ? only : { is, parts };
  }

  #one(): Filter {
    if (this.#takes('not')) return { is: 'not', part: this.#one() };
    if (this.#takesSign('(')) {
      const inner = this.either();
      this.#need(')');
      return inner;
    }
    return this.#comparison();
  }

  #comparison(): Filter {
    const column = this.#column();
    const sign = COMPARATORS[this.#sign() ?? ''];
    if (sign !== undefined) {
      this.#at += 1;
      return { is: 'compare', column, by: sign, value: this.#literal() };
    }
    if (this.#takes('is')) {
      const isNot = this.#takes('not');
      if (!this.#takes('null')) throw new FilterFault('`null` is missing behind `is`');
      const filter: Filter = { is: 'null', column };
      return isNot ? { is: 'not', part: filter } : filter;
    }
    const isNot = this.#takes('not');
    const filter = this.#inOrPrefix(column);
    return isNot ? { is: 'not', part: filter } : filter;
  }

  #inOrPrefix(column: string): Filter {
    if (this.#takes('in')) {
      this.#need('(');
      const values = [this.#literal()];
      while (this.#takesSign(',')) values.push(this.#literal());
      this.#need(')');
      return { is: 'in', column, values };
    }
    if (!this.#takes('starts_with') && !this.#takes('startswith'))
      throw new FilterFault(`no comparison stands behind \`${column}\``);
    const isCall = this.#takesSign('(');
    const prefix = this.#literal();
    if (isCall) this.#need(')');
    if (typeof prefix !== 'string') throw new FilterFault('`starts_with` needs a text');
    return { is: 'starts_with', column, prefix };
  }

  #column(): string {
    const token = this.#tokens[this.#at];
    if (token === undefined) throw new FilterFault('it ends where a column is needed');
    if (token.is !== 'word' && token.is !== 'name')
      throw new FilterFault(`\`${token.text}\` stands where a column is needed`);
    this.#at += 1;
    return token.text;
  }

  #literal(): Literal {
    const token = this.#tokens[this.#at];
    if (token === undefined) throw new FilterFault('it ends where a value is needed');
    this.#at += 1;
    if (token.is === 'text') return token.text;
    if (token.is === 'number') {
      const number = Number(token.text);
      return /^-?\d+$/.test(token.text) && !Number.isSafeInteger(number)
        ? BigInt(token.text)
        : number;
    }
    if (token.is === 'word' && /^(?:true|false)$/i.test(token.text))
      return token.text.toLowerCase() === 'true';
    throw new FilterFault(
      `\`${token.text}\` stands where a value is needed; texts stand in single quotes`,
    );
  }

  #takes(word: string): boolean {
    const token = this.#tokens[this.#at];
    if (token?.is !== 'word' || token.text.toLowerCase() !== word) return false;
    this.#at += 1;
    return true;
  }

  #sign(): string | undefined {
    const token = this.#tokens[this.#at];
    return token?.is === 'sign' ? token.text : undefined;
  }

  #takesSign(sign: string): boolean {
    if (this.#sign() !== sign) return false;
    this.#at += 1;
    return true;
  }

  #need(sign: string): void {
    if (!this.#takesSign(sign)) throw new FilterFault(`\`${sign}\` is missing`);
  }
}
