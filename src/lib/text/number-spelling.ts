/**
 * How numbers stood in the JSON text that they were read from, where JavaScript would write them in
 * another way: `1.0`, `1.10`, `1e5`, and decimals of more digits than a double holds. The object or
 * list that holds such a number remembers it, also when it is copied with `{...record}`; the number
 * itself is an ordinary one for everybody.
 */

const SPELLINGS = Symbol('spellings of numbers');

type Holder = object & { [SPELLINGS]?: Map<string, string> };

/** What several lists remember together. */
const shared = new WeakSet<ReadonlyMap<string, string>>();

/** Most programs never read such a number, and then nothing has to be looked for. */
let areThereAny = false;

/** `key` is a name or the index of an item, as text. */
export function rememberSpelling(holder: object, key: string, text: string): void {
  areThereAny = true;
  const known = (holder as Holder)[SPELLINGS];
  // A copy of an object has the same map; one of a list has none.
  if (known !== undefined && Array.isArray(holder) && !shared.has(known)) known.set(key, text);
  else (holder as Holder)[SPELLINGS] = new Map([...(known ?? []), [key, text]]);
}

/** The same for an object or list that is being read, so that there is no copy of it yet. */
export function noteSpelling(holder: object, key: string, text: string): void {
  areThereAny = true;
  ((holder as Holder)[SPELLINGS] ??= new Map()).set(key, text);
}

/** `undefined` when the number is written as usual, or when another value has taken its place. */
export function spellingOf(holder: object, key: string): string | undefined {
  if (!areThereAny) return undefined;
  const text = (holder as Holder)[SPELLINGS]?.get(key);
  if (text === undefined) return undefined;
  return Object.is((holder as Record<string, unknown>)[key], Number(text)) ? text : undefined;
}

/** JavaScript writes the zero below zero as `0`; without a fraction others would read an integer. */
export const NEGATIVE_ZERO = '-0.0';

/** For values that were not read from JSON. */
export function keepNegativeZeros<T>(list: T[]): T[] {
  for (let index = 0; index < list.length; index += 1)
    if (list[index] === 0 && Object.is(list[index], -0))
      noteSpelling(list, String(index), NEGATIVE_ZERO);
  return list;
}

/** For a value that is copied to another place. */
// A holder and a key for each side, in loops over all fields of a record.
// oxlint-disable-next-line max-params
export function keepSpelling(from: object, key: string, to: object, toKey: string): void {
  if (!areThereAny) return;
  const text = (from as Holder)[SPELLINGS]?.get(key);
  if (text !== undefined) rememberSpelling(to, toKey, text);
}

/** For a value that takes the place of another one, of which nothing is remembered any more. */
// oxlint-disable-next-line max-params
export function moveSpelling(from: object, key: string, to: object, toKey: string): void {
  forgetSpelling(to, toKey);
  keepSpelling(from, key, to, toKey);
}

/** For a copy of all items, under their old names. */
export function keepSpellings(from: object, to: object): void {
  if (!areThereAny) return;
  const spellings = (from as Holder)[SPELLINGS];
  if (spellings === undefined) return;
  shared.add(spellings);
  (to as Holder)[SPELLINGS] = spellings;
}

/** For a value that is computed and may by chance be equal to the number that was read. */
export function forgetSpelling(holder: object, key: string): void {
  if (!areThereAny) return;
  const spellings = (holder as Holder)[SPELLINGS];
  if (spellings?.has(key) !== true) return;
  (holder as Holder)[SPELLINGS] = new Map([...spellings].filter(([name]) => name !== key));
}

/** The text of a number that stands alone, where it is not the usual one. */
export function ownSpelling(value: unknown, text: string): string | undefined {
  return typeof value === 'number' && text !== String(value) ? text : undefined;
}

/** Whether one of its own numbers was written in its own way. */
export function hasSpellings(holder: object): boolean {
  return areThereAny && (holder as Holder)[SPELLINGS] !== undefined;
}

/** Whether the value, or one inside it, remembers how a number was written. */
export function holdsSpelling(value: unknown): boolean {
  if (!areThereAny || typeof value !== 'object' || value === null) return false;
  if ((value as Holder)[SPELLINGS] !== undefined) return true;
  const items: readonly unknown[] = Array.isArray(value) ? value : Object.values(value);
  return items.some(holdsSpelling);
}
