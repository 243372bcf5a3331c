/**
 * The grammar of `${…}`. `$${` is an escape for a literal `${`; it is marked once, when the
 * document is loaded, and the literal is put back at the very end, so that no later pass can read
 * it as a token. The mark is a NUL behind the `$`: a text cannot hold NUL.
 */
import { isObject, setField, type JsonObject, type JsonValue } from '../../lib/text/json.ts';
import { MAX_TOKEN_DEPTH } from '../text/limits.ts';

const LITERAL_DOLLAR = '$\u0000';
const ESCAPED = `${LITERAL_DOLLAR}{`;

const UNFILLED = '${unfilled:';

/**
 * Stands for a token whose text is not known, because a secret still has to be asked for or the
 * token is at fault: a tree that holds it is only for finding out what else is needed or wrong. To
 * whoever reads the tree it is a token that is not filled in yet.
 */
export function unfilled(body: string): string {
  return `${UNFILLED}${body.replaceAll(/[${}]/g, '')}}`;
}

export function isUnfilled(text: string): boolean {
  return text.includes(UNFILLED);
}

export interface TokenHandlers {
  /**
   * What stands instead of a token; `body` is the text between the braces, its inner tokens already
   * replaced.
   */
  replace(body: string): string;
  /** Tokens are nested beyond the limit; the rest of the text stays as it is. */
  tooDeep(): void;
  /** A token is not ended: `rest` is the text from its `${` on, which stays as it is. */
  unended?(rest: string): void;
}

/**
 * Replaces every token of a text, innermost first, and marks escapes. An unterminated token stays
 * literal text.
 */
export function rewriteTokens(text: string, handlers: TokenHandlers): string {
  let next = text.indexOf('${');
  if (next === -1) return text;
  let out = '';
  let at = 0;
  while (next !== -1) {
    if (next > at && text[next - 1] === '$') {
      out += text.slice(at, next - 1) + ESCAPED;
      at = next + 2;
    } else {
      const token = readToken(text, next + 2, 1, handlers);
      if (token === undefined) {
        handlers.unended?.(text.slice(next));
        return out + protectTokens(text.slice(at));
      }
      out += text.slice(at, next) + handlers.replace(token.body);
      at = token.end;
    }
    next = text.indexOf('${', at);
  }
  return out + text.slice(at);
}

function readToken(
  text: string,
  start: number,
  depth: number,
  handlers: TokenHandlers,
): { body: string; end: number } | undefined {
  if (depth > MAX_TOKEN_DEPTH) {
    handlers.tooDeep();
    return undefined;
  }
  let body = '';
  let at = start;
  for (;;) {
    const close = text.indexOf('}', at);
    if (close === -1) return undefined;
    const open = text.slice(at, close).indexOf('${');
    if (open === -1) return { body: body + text.slice(at, close), end: close + 1 };
    const inner = at + open;
    if (inner > at && text[inner - 1] === '$') {
      body += text.slice(at, inner - 1) + ESCAPED;
      at = inner + 2;
      continue;
    }
    const nested = readToken(text, inner + 2, depth + 1, handlers);
    if (nested === undefined) return undefined;
    body += text.slice(at, inner) + handlers.replace(nested.body);
    at = nested.end;
  }
}

/**
 * Makes data safe to stand in a text whose tokens are still to be read, whatever stands behind it:
 * it holds no token and begins none.
 */
export function protectTokens(text: string): string {
  const marked = text.replaceAll('${', ESCAPED);
  return marked.endsWith('$') ? `${marked}\u0000` : marked;
}

/** Puts the literals back; values without marks are returned as they are, not copied. */
export function restoreEscapes<T extends JsonValue>(value: T): T;
export function restoreEscapes(value: JsonValue): JsonValue {
  return holdsMark(value) ? restored(value) : value;
}

function holdsMark(value: JsonValue | undefined): boolean {
  if (typeof value === 'string') return value.includes(LITERAL_DOLLAR);
  if (Array.isArray(value)) return value.some(holdsMark);
  return (
    isObject(value) &&
    Object.keys(value).some((key) => key.includes(LITERAL_DOLLAR) || holdsMark(value[key]))
  );
}

function restored(value: JsonValue): JsonValue {
  if (typeof value === 'string') return value.replaceAll(LITERAL_DOLLAR, '$');
  if (Array.isArray(value)) return value.map(restored);
  if (!isObject(value)) return value;
  const copy: JsonObject = {};
  for (const [key, item] of Object.entries(value))
    setField(copy, key.replaceAll(LITERAL_DOLLAR, '$'), restored(item));
  return copy;
}

/**
 * The escapes of a text as an author writes them, `$${`: for a text that will be loaded once more.
 */
export function escapesAsWritten(text: string): string {
  return text.replaceAll(LITERAL_DOLLAR, () => '$$');
}

/** Marks inside compact JSON text, where the writer has turned them into `\u0000`. */
export function marksInJson(text: string): string {
  return text.replaceAll('$\\u0000', LITERAL_DOLLAR);
}

/** What an author writes for a text that may hold `${` and means no token by it. */
export function withEscapes(text: string): string {
  return text.split('${').join('$${');
}

/** The same of all names and texts of a value. */
export function deepEscapes(value: JsonValue): JsonValue {
  if (typeof value === 'string') return withEscapes(value);
  if (Array.isArray(value)) return value.map(deepEscapes);
  if (!isObject(value)) return value;
  const copy: JsonObject = {};
  for (const [key, item] of Object.entries(value))
    setField(copy, withEscapes(key), deepEscapes(item));
  return copy;
}

export type Token =
  | { readonly kind: 'now'; readonly name: string }
  /** `${prefix:rest}`, resolved at load. */
  | { readonly kind: 'directive'; readonly prefix: string; readonly rest: string }
  /** `${root.path}`; `path` is empty for `${root}`. */
  | { readonly kind: 'path'; readonly root: string; readonly path: string }
  /** Rendered by connectors in their own templates. */
  | { readonly kind: 'connector' };

/** Names of the tokens that connectors fill in while they read. */
export const CONNECTOR_TOKENS = ['bookmark', 'job_id', 'next_token', 'window'] as const;

const CONNECTOR_TOKEN = new RegExp(`^(?:${CONNECTOR_TOKENS.join('|')})(?:[.:]|$)`);

/** `now.` comes before the colon rule: time formats hold colons. */
export function classify(body: string): Token {
  if (CONNECTOR_TOKEN.test(body)) return { kind: 'connector' };
  if (body === 'now' || body.startsWith('now.')) return { kind: 'now', name: body.slice(4) };
  const colon = body.indexOf(':');
  if (colon !== -1)
    return { kind: 'directive', prefix: body.slice(0, colon), rest: body.slice(colon + 1) };
  const dot = body.indexOf('.');
  if (dot === -1) return { kind: 'path', root: body, path: '' };
  return { kind: 'path', root: body.slice(0, dot), path: body.slice(dot + 1) };
}

/** The body of the token that fills a whole text. */
export function wholeToken(text: string): string | undefined {
  if (
    !text.startsWith('${') ||
    text.indexOf('}') !== text.length - 1 ||
    text.indexOf('${', 2) !== -1
  )
    return undefined;
  return text.slice(2, -1);
}
