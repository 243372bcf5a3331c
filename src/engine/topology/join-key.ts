import { hasField, isObject, jsonText, type JsonValue } from '../../lib/text/json.ts';
import { keepSpelling } from '../../lib/text/number-spelling.ts';

/** Reads a dotted path through objects into a list, with the spelling of a number. */
export function pathCopier(path: string): (record: JsonValue, into: JsonValue[]) => void {
  const read = pathReader(path);
  const [last = '', ...above] = path.split('.').toReversed();
  const holderOf = above.length === 0 ? undefined : pathReader(above.toReversed().join('.'));
  return (record, into) => {
    const value = read(record);
    const length = into.push(value as JsonValue);
    const holder = typeof value !== 'number' || holderOf === undefined ? record : holderOf(record);
    if (typeof value === 'number' && isObject(holder))
      keepSpelling(holder, last, into, String(length - 1));
  };
}

/** Reads a dotted path through objects; `undefined` when a part of it is missing. */
export function pathReader(path: string): (record: JsonValue) => JsonValue | undefined {
  const steps = path.split('.');
  return (record) => {
    let at: JsonValue | undefined = record;
    for (const step of steps) {
      if (!isObject(at) || !hasField(at, step)) return undefined;
      at = at[step];
    }
    return at;
  };
}

/**
 * What keys are compared by; `undefined` for values that are no keys: missing, null, objects and
 * lists.
 */
export function joinKey(
  value: JsonValue | undefined,
  normalize: 'preserve' | 'stringify',
): string | undefined {
  if (value === undefined || value === null || typeof value === 'object') return undefined;
  const text = jsonText(value);
  if (normalize === 'stringify') return text;
  // Integers of any size are one type.
  return `${typeof value === 'bigint' ? 'number' : typeof value}:${text}`;
}
