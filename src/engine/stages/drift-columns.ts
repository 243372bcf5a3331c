/**
 * Comparing the top-level fields of a page with the columns of a destination: pure, and the same
 * for every policy.
 */
import { hasField, isObject, type JsonValue } from '../../lib/text/json.ts';
import type { ColumnType, DestinationColumn, SchemaChange } from '../../kit/sink.ts';
import { FieldTypes, withoutNarrower, type FieldTypesOf } from '../field-types.ts';

export interface Widening {
  readonly name: string;
  /** The wider type; `undefined` when only null is new. */
  readonly type: ColumnType | undefined;
  readonly relaxNull: boolean;
}

/** How a page differs from its destination. Every list is sorted by column. */
export interface Drift {
  readonly added: readonly { readonly name: string; readonly type: ColumnType }[];
  readonly widened: readonly Widening[];
  readonly incompatible: readonly string[];
  /** Required columns that no record of the page has. */
  readonly missing: readonly string[];
}

const WIDTH: readonly ColumnType[] = ['boolean', 'integer', 'number', 'string', 'array', 'object'];

/** Sorted by name. */
export function columnsOf(records: readonly JsonValue[]): FieldTypesOf[] {
  const types = new FieldTypes();
  types.add(records);
  return types.fields().sort(byName);
}

export interface Comparison {
  readonly destination: readonly DestinationColumn[];
  readonly allowWidening: boolean;
  /** Columns that are filled in after the comparison, so that no record has to bring them. */
  readonly supplied: ReadonlySet<string>;
}

export function compareColumns(
  page: readonly FieldTypesOf[],
  { destination, allowWidening, supplied }: Comparison,
): Drift {
  const live = new Map(destination.map((column) => [column.name, column]));
  const added: Drift['added'][number][] = [];
  const widened: Widening[] = [];
  const incompatible: string[] = [];
  for (const column of page) {
    const there = live.get(column.name);
    if (there === undefined) {
      added.push({ name: column.name, type: widestOf(column.types) });
      continue;
    }
    if (fits(column, there)) continue;
    const widening = allowWidening ? wideningOf(column, there) : undefined;
    if (widening === undefined) incompatible.push(column.name);
    else widened.push(widening);
  }
  const present = new Set(page.map((column) => column.name));
  const missing = destination.filter(
    ({ name, nullable }) => !nullable && !present.has(name) && !supplied.has(name),
  );
  return { added, widened, incompatible, missing: missing.map((column) => column.name).sort() };
}

export function hasDrift({ added, widened, incompatible, missing }: Drift): boolean {
  return added.length + widened.length + incompatible.length + missing.length > 0;
}

function fits({ types, nulls }: FieldTypesOf, there: DestinationColumn): boolean {
  return (!nulls || there.nullable) && [...types].every((type) => takes(there, type));
}

function takes({ types }: DestinationColumn, type: ColumnType): boolean {
  return types.includes(type) || (type === 'integer' && types.includes('number'));
}

/** One type that holds the column and the page; a destination calls its own type first. */
function wideningOf(
  { name, types, nulls }: FieldTypesOf,
  there: DestinationColumn,
): Widening | undefined {
  const relaxNull = nulls && !there.nullable;
  if ([...types].every((type) => takes(there, type))) return { name, type: undefined, relaxNull };
  const [own] = there.types;
  const merged = withoutNarrower(new Set(own === undefined ? types : [own, ...types]));
  const [type] = merged;
  return merged.size === 1 && type !== undefined ? { name, type, relaxNull } : undefined;
}

/** A column with nothing but nulls becomes text. */
function widestOf(types: ReadonlySet<ColumnType>): ColumnType {
  return [...types].sort((a, b) => WIDTH.indexOf(b) - WIDTH.indexOf(a))[0] ?? 'string';
}

/** What has to be done to the destination so that everything but the incompatible fits. */
export function changeFor({ added, widened, missing }: Drift, relaxMissing: boolean): SchemaChange {
  return {
    add: added,
    widen: widened.flatMap(({ name, type }) => (type === undefined ? [] : [{ name, type }])),
    relaxNull: [
      ...widened.filter((one) => one.relaxNull).map((one) => one.name),
      ...(relaxMissing ? missing : []),
    ],
  };
}

/**
 * The destination as a change was meant to leave it: some databases hold wider values without
 * saying so.
 */
export function changed(
  destination: readonly DestinationColumn[],
  change: SchemaChange,
): DestinationColumn[] {
  const widen = new Map(change.widen.map(({ name, type }) => [name, type]));
  const relax = new Set(change.relaxNull);
  return destination.map((column) => {
    const type = widen.get(column.name);
    const types =
      type === undefined || column.types.includes(type) ? column.types : [type, ...column.types];
    return { ...column, types, nullable: column.nullable || relax.has(column.name) };
  });
}

export function holdsAny(record: JsonValue, names: readonly string[]): boolean {
  return isObject(record) && names.some((name) => hasField(record, name));
}

export function lacksAny(record: JsonValue, names: readonly string[]): boolean {
  return isObject(record) && names.some((name) => !hasField(record, name));
}

function byName(a: { readonly name: string }, b: { readonly name: string }): number {
  return a.name < b.name ? -1 : 1;
}
