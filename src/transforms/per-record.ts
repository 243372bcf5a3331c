/**
 * Ownership inside a chain of transforms: a record's top level may be changed in place, anything
 * nested may be shared with other records (exploded siblings, constants of a config) and is
 * replaced, never changed.
 */
import { z } from 'zod';
import { isObject, type JsonObject, type JsonValue } from '../lib/text/json.ts';
import { mappedColumn } from '../kit/cells.ts';
import type { Columns } from '../kit/columns.ts';
import { text } from '../kit/schema.ts';
import type { CompiledTransform, OnColumns } from '../kit/transform.ts';

/**
 * A transform that changes fields of one object in place; a record that is not an object passes as
 * it is.
 */
export function editing(
  edit: (record: JsonObject) => void,
  onColumns?: OnColumns,
): CompiledTransform {
  return {
    kind: 'record',
    ...(onColumns === undefined ? {} : { onColumns }),
    apply(record, emit) {
      if (isObject(record)) edit(record);
      emit(record);
    },
  };
}

/**
 * A transform that makes one new record of each object; a record that is not an object passes as it
 * is.
 */
export function mapping(
  map: (record: JsonObject) => JsonValue,
  onColumns?: OnColumns,
): CompiledTransform {
  return {
    kind: 'record',
    ...(onColumns === undefined ? {} : { onColumns }),
    apply: (record, emit) => emit(isObject(record) ? map(record) : record),
  };
}

/** Columns with other values in some fields; fields that a record lacks are not added to it. */
export function changedColumns(
  columns: Columns,
  names: readonly string[],
  change: (value: JsonValue) => JsonValue,
): Columns {
  return names.reduce((changed, name) => {
    const column = changed.column(name);
    return column === undefined
      ? changed
      : changed.with(name, mappedColumn(changed, column, change));
  }, columns);
}

/** The usual `fields` of a config: exact top-level names. */
export function fieldNames(description: string) {
  return z
    .array(text())
    .meta({ description: `${description} Exact top-level names; absent ones are left alone.` });
}

/** Lists for which empty means the same as absent. */
export function someFieldNames(description: string) {
  return z
    .array(text())
    .min(1)
    .meta({
      description: `${description} Exact top-level names, at least one; absent ones are left alone.`,
    });
}
