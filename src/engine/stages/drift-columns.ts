/**
 * Comparing the top-level fields of a page with the columns of a destination: pure, and the same
 * for every policy.
 */
import { hasField, isObject, type JsonValue } from '../../lib/text/json.ts';
import { fieldOf, type RecordField, type RecordSchema } from '../../kit/record-schema.ts';
import { columnTypeFor } from '../../kit/typed-values.ts';
import type { AddedColumn, ColumnType, DestinationColumn, SchemaChange } from '../../kit/sink.ts';
import { inOneCase } from '../../lib/sql/sql-name.ts';
import { FieldTypes, withoutNarrower, type FieldTypesOf } from '../field-types.ts';

export interface Widening {
  readonly name: string;
  /** The wider type; `undefined` when only null is new. */
  readonly type: ColumnType | undefined;
  readonly relaxNull: boolean;
}

/** How a page differs from its destination. Every list is sorted by column. */
export interface Drift {
  readonly added: readonly AddedColumn[];
  readonly widened: readonly Widening[];
  readonly incompatible: readonly string[];
  /** Of the widened and the incompatible ones those whose values fit: only null is new there. */
  readonly onlyNull: readonly string[];
  /** Required columns that no record of the page has. */
  readonly missing: readonly string[];
}

const WIDTH: readonly ColumnType[] = ['boolean', 'integer', 'number', 'string', 'array', 'object'];

/** A field of a page, with what is known of it. */
export interface PageColumn extends FieldTypesOf {
  readonly field?: RecordField | undefined;
}

/** Sorted by name. */
export function columnsOf(
  records: readonly JsonValue[],
  schema: RecordSchema | undefined,
): PageColumn[] {
  const types = new FieldTypes();
  types.add(records);
  return types
    .fields()
    .map((column) => withField(column, fieldOf(schema, column.name)))
    .sort(byName);
}

/** Of floats some are texts (`NaN`), and some look like integers. */
function withField(column: FieldTypesOf, field: RecordField | undefined): PageColumn {
  if (field === undefined) return column;
  const isFloat = columnTypeFor(field.type) === 'number';
  return isFloat && column.types.size > 0
    ? { ...column, field, types: NUMBER }
    : { ...column, field };
}

const NUMBER: ReadonlySet<ColumnType> = new Set(['number']);

export interface Comparison {
  readonly destination: readonly DestinationColumn[];
  readonly allowWidening: boolean;
  /** Columns that are filled in after the comparison, so that no record has to bring them. */
  readonly supplied: ReadonlySet<string>;
}

export function compareColumns(
  page: readonly PageColumn[],
  { destination, allowWidening, supplied }: Comparison,
): Drift {
  const live = new Map(destination.map((column) => [column.name, column]));
  const added: Drift['added'][number][] = [];
  const widened: Widening[] = [];
  const incompatible: string[] = [];
  const onlyNull: string[] = [];
  for (const column of page) {
    const there = live.get(column.name);
    if (there === undefined) {
      const { name, field } = column;
      added.push({ name, type: widestOf(column.types), ...(field === undefined ? {} : { field }) });
      continue;
    }
    if (fits(column, there)) continue;
    if (holds(there, column)) onlyNull.push(column.name);
    const widening = allowWidening ? wideningOf(column, there) : undefined;
    if (widening === undefined) incompatible.push(column.name);
    else widened.push(widening);
  }
  const present = new Set(page.map((column) => column.name));
  const missing = destination.filter(
    (column) => isRequired(column) && !present.has(column.name) && !supplied.has(column.name),
  );
  return {
    added,
    widened,
    incompatible,
    onlyNull,
    missing: missing.map((column) => column.name).sort(),
  };
}

/** A destination as a page comes to it. */
export interface DestinationView extends Omit<Comparison, 'supplied'> {
  readonly ignoresCase: boolean;
  readonly supplied: ReadonlyMap<string, ColumnType>;
  /** Whether columns that are filled in later are added where the destination lacks them. */
  readonly addsSupplied: boolean;
}

export interface ComparedPage {
  /** With their fields named as the columns that the destination takes them for. */
  readonly records: readonly JsonValue[];
  readonly drift: Drift;
}

/** `columns` are those of the records, as `columnsOf` gives them. */
export function comparePage(
  {
    records: given,
    schema,
    columns,
  }: {
    readonly records: readonly JsonValue[];
    readonly schema: RecordSchema | undefined;
    readonly columns: readonly PageColumn[];
  },
  { ignoresCase, supplied, addsSupplied, ...comparison }: DestinationView,
): ComparedPage {
  const { destination } = comparison;
  const known = new Set(destination.map(({ name }) => name));
  const isRenamed = ignoresCase && columns.some(({ name }) => !known.has(name));
  const records = isRenamed ? inColumnCase(given, destination) : given;
  const found = compareColumns(records === given ? columns : columnsOf(records, schema), {
    ...comparison,
    supplied: new Set(supplied.keys()),
  });
  return { records, drift: addsSupplied ? withSupplied(found, supplied, known) : found };
}

/** The columns that are filled in later would be left out by a table that does not have them. */
function withSupplied(
  drift: Drift,
  supplied: ReadonlyMap<string, ColumnType>,
  known: ReadonlySet<string>,
): Drift {
  const lacking = [...supplied].filter(
    ([name]) => !known.has(name) && !drift.added.some((one) => one.name === name),
  );
  return {
    ...drift,
    added: [...drift.added, ...lacking.map(([name, type]) => ({ name, type }))],
  };
}

export function hasDrift({ added, widened, incompatible, missing }: Drift): boolean {
  return added.length + widened.length + incompatible.length + missing.length > 0;
}

/** A record has to bring a value: the destination makes up none. */
function isRequired({ nullable, hasDefault }: DestinationColumn): boolean {
  return !nullable && hasDefault !== true;
}

function fits(column: FieldTypesOf, there: DestinationColumn): boolean {
  return !lacksValues(column, there) && holds(there, column);
}

function lacksValues({ nulls, hasNull }: FieldTypesOf, there: DestinationColumn): boolean {
  return isRequired(there) ? nulls : hasNull && !there.nullable;
}

function holds(there: DestinationColumn, { types }: FieldTypesOf): boolean {
  return [...types].every((type) => takes(there, type));
}

function takes({ types }: DestinationColumn, type: ColumnType): boolean {
  return types.includes(type) || (type === 'integer' && types.includes('number'));
}

/** One type that holds the column and the page; a destination calls its own type first. */
function wideningOf(column: FieldTypesOf, there: DestinationColumn): Widening | undefined {
  const { name, types } = column;
  const relaxNull = lacksValues(column, there);
  if (holds(there, column)) return { name, type: undefined, relaxNull };
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

/** The columns that a record must bring a value for, and those in which it must not be null. */
export interface RequiredColumns {
  readonly present: readonly string[];
  readonly notNull: readonly string[];
}

export function requiredColumns(
  destination: readonly DestinationColumn[],
  supplied: ReadonlySet<string>,
): RequiredColumns {
  const notNull = destination.filter(({ nullable, name }) => !nullable && !supplied.has(name));
  return {
    present: notNull.filter(isRequired).map(({ name }) => name),
    notNull: notNull.map(({ name }) => name),
  };
}

export function lacksAny(record: JsonValue, { present, notNull }: RequiredColumns): boolean {
  if (!isObject(record)) return false;
  return (
    present.some((name) => !hasField(record, name)) ||
    notNull.some((name) => hasField(record, name) && record[name] === null)
  );
}

/**
 * Records with their fields named as the columns, for a destination that ignores case; new names
 * are spelled as they come first. A record with two fields for one column stays as it is: the sink
 * refuses it.
 */
export function inColumnCase(
  records: readonly JsonValue[],
  destination: readonly DestinationColumn[],
): readonly JsonValue[] {
  const exact = new Set(destination.map(({ name }) => name));
  const spellings = new Map(destination.map(({ name }) => [inOneCase(name), name]));
  const nameOf = (field: string): string => {
    if (exact.has(field)) return field;
    const folded = inOneCase(field);
    const spelling = spellings.get(folded);
    if (spelling === undefined) spellings.set(folded, field);
    return spelling ?? field;
  };
  let isChanged = false;
  const renamed = records.map((record) => {
    if (!isObject(record)) return record;
    const fields = Object.keys(record);
    const names = fields.map(nameOf);
    if (names.every((name, index) => name === fields[index])) return record;
    if (new Set(names).size < names.length) return record;
    isChanged = true;
    return Object.fromEntries(
      names.map((name, index) => [name, record[fields[index] ?? ''] ?? null]),
    );
  });
  return isChanged ? renamed : records;
}

function byName(a: { readonly name: string }, b: { readonly name: string }): number {
  return a.name < b.name ? -1 : 1;
}
