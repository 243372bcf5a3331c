import { isObject, type JsonValue } from '../../lib/text/json.ts';
import { columnTypeOf } from '../../kit/column-type.ts';
import type { ColumnType } from '../../kit/sink.ts';
import type { NewColumn } from './driver.ts';

const WIDTH: readonly ColumnType[] = ['boolean', 'integer', 'number', 'string', 'array', 'object'];

/**
 * Columns for a page of records, in the order in which fields first appear. Fields with mixed
 * values get the widest type, fields with only nulls get text.
 */
export function inferColumns(records: readonly JsonValue[]): NewColumn[] {
  const types = new Map<string, ColumnType | undefined>();
  for (const record of records) {
    if (!isObject(record)) continue;
    for (const [name, value] of Object.entries(record))
      types.set(name, wider(types.get(name), columnTypeOf(value)));
  }
  return [...types].map(([name, type]) => ({ name, type: type ?? 'string' }));
}

function wider(a: ColumnType | undefined, b: ColumnType | undefined): ColumnType | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  return WIDTH.indexOf(a) >= WIDTH.indexOf(b) ? a : b;
}
