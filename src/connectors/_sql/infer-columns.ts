import { isObject, type JsonValue } from '../../lib/json.ts';
import type { ColumnType } from '../../kit/sink.ts';
import type { NewColumn } from './driver.ts';

const WIDTH: readonly ColumnType[] = ['boolean', 'integer', 'number', 'string', 'array', 'object'];
const INT64_MAX = 2n ** 63n - 1n;
const INT64_MIN = -(2n ** 63n);

/** Columns for a page of records, in the order fields first appear; mixed fields get the widest type, only-null fields text. */
export function inferColumns(records: readonly JsonValue[]): NewColumn[] {
  const types = new Map<string, ColumnType | undefined>();
  for (const record of records) {
    if (!isObject(record)) continue;
    for (const [name, value] of Object.entries(record)) types.set(name, wider(types.get(name), typeOf(value)));
  }
  return [...types].map(([name, type]) => ({ name, type: type ?? 'string' }));
}

function typeOf(value: JsonValue): ColumnType | undefined {
  switch (typeof value) {
    case 'boolean':
      return 'boolean';
    case 'number':
      return Number.isSafeInteger(value) ? 'integer' : 'number';
    case 'bigint':
      // Digits that fit no 64-bit column are kept exact as text.
      return value <= INT64_MAX && value >= INT64_MIN ? 'integer' : 'string';
    case 'string':
      return 'string';
    default:
      if (value === null) return undefined;
      return Array.isArray(value) ? 'array' : 'object';
  }
}

function wider(a: ColumnType | undefined, b: ColumnType | undefined): ColumnType | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  return WIDTH.indexOf(a) >= WIDTH.indexOf(b) ? a : b;
}
