/**
 * JSON answers that may be long: made and sent in pieces, with a pause after each, so that other
 * requests are answered in between.
 */
import { setImmediate as pause } from 'node:timers/promises';
import { stringifyJson, type JsonObject, type JsonValue } from '../../lib/text/json.ts';

/** About 50 KB of records of the usual size. */
const ITEMS_A_PIECE = 200;

/** One list in an object, between the members before and behind it. */
export interface LongJson {
  readonly before: object;
  readonly name: string;
  /** JSON texts of some items each, with a comma between the items. */
  readonly items: Iterable<string | Uint8Array>;
  readonly after: object;
}

export async function* jsonPieces(parts: LongJson): AsyncGenerator<string | Uint8Array> {
  const { before, name, items, after } = parts;
  const members = stringifyJson(before as JsonObject).slice(0, -1);
  yield `${members}${members === '{' ? '' : ','}${JSON.stringify(name)}:[`;
  let isFirst = true;
  for (const piece of items) {
    await pause();
    if (!isFirst) yield ',';
    isFirst = false;
    yield piece;
  }
  const rest = stringifyJson(after as JsonObject).slice(1);
  yield rest === '}' ? ']}' : `],${rest}`;
}

/** The items of a list as pieces. */
export function* itemPieces(items: readonly unknown[]): Generator<string> {
  for (let from = 0; from < items.length; from += ITEMS_A_PIECE) {
    const some = items.slice(from, from + ITEMS_A_PIECE);
    yield some.map((item) => stringifyJson(item as JsonValue)).join(',');
  }
}
