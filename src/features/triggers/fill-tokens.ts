/** Puts what an event says into a document. Values stay data: they can never become tokens. */
import {
  classify,
  protectTokens,
  restoreEscapes,
  rewriteTokens,
  type TokenHandlers,
} from '../../document/tokens/tokens.ts';
import { RefusedError } from '../../lib/errors.ts';
import { isObject, type JsonObject, type JsonValue } from '../../lib/text/json.ts';

/** The value of `${trigger.<token>}`. */
export type TokenValue = (token: string) => string;

/** Stands for a value until the text around it is known; texts hold no NUL. */
// oxlint-disable-next-line no-control-regex -- that texts cannot hold it is why it is used
const PLACE = /\u0000t(\d+)\u0000/g;

/**
 * The tree with every `${trigger.…}` filled in, to be loaded as a document once more: its other
 * tokens and its escapes stay as they are written. Throws `UnfitEvent` for a value that cannot stand
 * where its token does.
 */
export function fillTokens(tree: JsonObject, value: TokenValue): JsonObject {
  return mapTexts(tree, (text) => fillText(text, value)) as JsonObject;
}

/** Whether it has any such token. */
export function hasTriggerTokens(tree: JsonValue): boolean {
  if (typeof tree === 'string') return tree.includes('${') && tree.includes('trigger.');
  if (Array.isArray(tree)) return tree.some(hasTriggerTokens);
  if (!isObject(tree)) return false;
  return Object.entries(tree).some(
    ([key, item]) => hasTriggerTokens(key) || hasTriggerTokens(item),
  );
}

/** The same for what is no document: the value of a parameter has no tokens but these. */
export function fillData(tree: JsonObject, value: TokenValue): JsonObject {
  return mapTexts(tree, (text) => fillPlainText(text, value)) as JsonObject;
}

function mapTexts(tree: JsonValue, change: (text: string) => string): JsonValue {
  if (typeof tree === 'string') return change(tree);
  if (Array.isArray(tree)) return tree.map((item) => mapTexts(item, change));
  if (!isObject(tree)) return tree;
  return Object.fromEntries(
    Object.entries(tree).map(([key, item]) => [change(key), mapTexts(item, change)]),
  );
}

export function fillText(text: string, value: TokenValue): string {
  if (!text.includes('${')) return text;
  const { places, values } = withPlaces(text, value);
  return asWritten(
    places.replaceAll(PLACE, (_, index: string) => protectTokens(values[Number(index)] ?? '')),
  );
}

function fillPlainText(text: string, value: TokenValue): string {
  if (!text.includes('${')) return text;
  const { places, values } = withPlaces(text, value);
  return restoreEscapes(places).replaceAll(
    PLACE,
    (_, index: string) => values[Number(index)] ?? '',
  );
}

/** The text with places instead of the tokens of triggers, and marked escapes. */
function withPlaces(
  text: string,
  value: TokenValue,
): { readonly places: string; readonly values: readonly string[] } {
  const values: string[] = [];
  const handlers: TokenHandlers = {
    replace(body) {
      const inner = body.replaceAll(PLACE, (_, index: string) => values[Number(index)] ?? '');
      const token = classify(inner);
      if (token.kind === 'path' && token.root === 'trigger')
        return `\u0000t${values.push(valid(value(token.path))) - 1}\u0000`;
      if (inner !== body) refuseSyntax(body, values);
      return `\${${inner}}`;
    },
    tooDeep: () => undefined,
  };
  return { places: rewriteTokens(text, handlers), values };
}

/** The marks of `protectTokens` as an author writes them. */
function asWritten(marked: string): string {
  // `$` and a token cannot be written side by side: it would be the escape `$${`.
  if (marked.includes('$\u0000${'))
    throw new UnfitEvent('a value that ends with `$` cannot stand right before another token');
  return marked.replaceAll('$\u0000{', () => '$${').replaceAll('$\u0000', () => '$');
}

function valid(value: string): string {
  if (value.includes('\u0000')) throw new UnfitEvent('a value holds a NUL character');
  return value;
}

/** Inside of another token, such as `${env:A_${trigger.query.b}}`, a value may not end it. */
function refuseSyntax(body: string, values: readonly string[]): void {
  for (const [, index] of body.matchAll(PLACE))
    if (/[${}]/.test(values[Number(index)] ?? ''))
      throw new UnfitEvent(
        'a value that holds `$`, `{` or `}` cannot stand inside of another token',
      );
}

/** What one event says cannot stand where its token does; others may fit. */
export class UnfitEvent extends RefusedError {
  constructor(why: string) {
    super('unprocessable', `the event does not fit the document: ${why}`);
  }
}
