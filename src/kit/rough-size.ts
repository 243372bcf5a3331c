/**
 * Rough sizes of values, for bounds of pages and of memory. Each is right to within a factor of two
 * or so, and costs less than encoding the value.
 */
import { isObject, type JsonValue } from '../lib/text/json.ts';

/** As JSON text. */
export function encodedSize(value: JsonValue): number {
  if (typeof value === 'string') return value.length + 2;
  if (Array.isArray(value))
    return value.reduce<number>((sum, item) => sum + encodedSize(item) + 1, 2);
  if (isObject(value))
    return Object.entries(value).reduce(
      (sum, [name, item]) => sum + name.length + 4 + encodedSize(item),
      2,
    );
  return 8;
}

const CELL_BYTES = 24;

/** In memory, while its cells wait in columns. */
export function columnSize(value: JsonValue): number {
  if (typeof value === 'string') return value.length + CELL_BYTES;
  if (Array.isArray(value))
    return value.reduce<number>((sum, item) => sum + columnSize(item), CELL_BYTES);
  if (typeof value !== 'object' || value === null) return CELL_BYTES;
  return Object.values(value).reduce<number>((sum, item) => sum + columnSize(item), CELL_BYTES);
}

/** Of an object or list, and of a field or item. */
export const CONTAINER_BYTES = 48;
export const ITEM_BYTES = 16;

/** In the heap, as objects. */
export function heapSize(value: JsonValue): number {
  if (typeof value === 'string') return ITEM_BYTES + value.length * 2;
  if (typeof value !== 'object' || value === null) return ITEM_BYTES;
  const items = Array.isArray(value) ? value : Object.values(value);
  return items.reduce<number>((sum, item) => sum + ITEM_BYTES + heapSize(item), CONTAINER_BYTES);
}
