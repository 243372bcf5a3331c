/** As much of MongoDB's conditions as the tests use, over values that keep their BSON types. */
import { BSON, type Document } from 'mongodb';
import { CommandError } from './command-error.ts';

const BAD_VALUE = 2;

/** One text for values that the server takes for equal: numbers of all types are. */
export function textOf(value: unknown): string {
  return BSON.EJSON.stringify({ value: value ?? null }, { relaxed: true });
}

export function valueAt(document: unknown, path: string): unknown {
  return path
    .split('.')
    .reduce<unknown>(
      (at, step) => (typeof at === 'object' && at !== null ? (at as Document)[step] : undefined),
      document,
    );
}

export function matches(document: Document, filter: Document): boolean {
  return Object.entries(filter).every(([name, wanted]) => {
    if (name === '$and') return (wanted as Document[]).every((one) => matches(document, one));
    if (name === '$or') return (wanted as Document[]).some((one) => matches(document, one));
    const value = valueAt(document, name);
    return isOperators(wanted)
      ? Object.entries(wanted).every(([operator, to]) => holds(operator, value, to))
      : isEqual(value, wanted);
  });
}

function isOperators(value: unknown): value is Document {
  return (
    typeof value === 'object' &&
    value !== null &&
    !('_bsontype' in value) &&
    Object.keys(value)[0]?.startsWith('$') === true
  );
}

function holds(operator: string, value: unknown, to: unknown): boolean {
  switch (operator) {
    case '$eq':
      return isEqual(value, to);
    case '$ne':
      return !isEqual(value, to);
    case '$in':
      return (to as unknown[]).some((one) => isEqual(value, one));
    case '$nin':
      return !(to as unknown[]).some((one) => isEqual(value, one));
    case '$exists':
      return (value !== undefined) === Boolean(to);
    case '$gt':
      return compare(value, to) > 0;
    case '$gte':
      return compare(value, to) >= 0;
    case '$lt':
      return compare(value, to) < 0;
    case '$lte':
      return compare(value, to) <= 0;
    default:
      throw new CommandError(BAD_VALUE, `unknown operator: ${operator}`);
  }
}

function isEqual(value: unknown, to: unknown): boolean {
  if (textOf(value) === textOf(to)) return true;
  return Array.isArray(value) && value.some((item) => textOf(item) === textOf(to));
}

/** `NaN` for values that have no order between them. */
function compare(one: unknown, other: unknown): number {
  const [a, b] = [comparable(one), comparable(other)];
  if (typeof a !== typeof b) return Number.NaN;
  return a < b ? -1 : a > b ? 1 : 0;
}

function comparable(value: unknown): number | string {
  if (value instanceof Date) return value.getTime();
  if (typeof value === 'string') return value;
  const number = Number(value);
  return Number.isNaN(number) ? textOf(value) : number;
}

export function sorted(documents: readonly Document[], order: Document): Document[] {
  return documents.toSorted((one, other) => {
    for (const [path, direction] of Object.entries(order)) {
      const found = compare(valueAt(one, path), valueAt(other, path)) * Number(direction);
      if (found !== 0 && !Number.isNaN(found)) return found;
    }
    return 0;
  });
}

export function projected(document: Document, projection: Document): Document {
  const { _id: id = 1, ...others } = projection;
  const names = Object.keys(others);
  const includes = names.some((name) => Number(others[name]) === 1);
  return Object.fromEntries(
    Object.entries(document).filter(([name]) => {
      if (name === '_id') return Number(id) === 1;
      return includes ? names.includes(name) : !names.includes(name);
    }),
  );
}
