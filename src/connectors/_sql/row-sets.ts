/** The rows of a page, put together by the columns that they fill. */
import { hasField, type JsonObject, type JsonValue } from '../../lib/text/json.ts';
import type { LiveColumn, RowSet, TableChange } from './driver.ts';

export interface RowTarget {
  readonly live: readonly LiveColumn[];
  readonly key: readonly LiveColumn[];
  readonly mode: TableChange['mode'];
  /** The value of a field, in the form that the driver wants. */
  readonly take: (record: JsonObject, field: string) => JsonValue;
  /** Whether the sets say which record each row is. */
  readonly numbered?: boolean | undefined;
}

interface Row {
  /** Positions of the columns that it does not fill; empty when it fills all. */
  readonly lacks: string;
  readonly values: JsonValue[];
  /** Which record it is, where the sets say so. */
  place?: number;
}

/**
 * What a record does not have is not written: an upsert keeps the old value and a new row has the
 * default, whatever the other records of the page have. `skipped` counts records without any known
 * field.
 */
export function rowSets(
  records: readonly JsonObject[],
  { live, key, mode, take, numbered }: RowTarget,
): { readonly writes: readonly RowSet[]; readonly skipped: number } {
  const columns = usedColumns(records, live);
  // An appended row without a value has null anyway where there is no default.
  const matters = columns.map((column) => mode === 'upsert' || column.hasDefault === true);
  const rows: Row[] = [];
  let isEqual = true;
  for (const [place, record] of records.entries()) {
    const row = rowOf(record, columns, { matters, take });
    if (row === undefined) continue;
    if (numbered === true) row.place = place;
    isEqual &&= row.lacks === (rows[0]?.lacks ?? row.lacks);
    rows.push(row);
  }
  const skipped = records.length - rows.length;
  const isOrdered = !isEqual && mode === 'upsert' && !hasPlainKeys(records, key);
  return { writes: isOrdered ? inRuns(rows, columns) : inGroups(rows, columns), skipped };
}

function usedColumns(records: readonly JsonObject[], live: readonly LiveColumn[]): LiveColumn[] {
  const open = new Map(live.map((column) => [column.name, column]));
  const used = new Set<LiveColumn>();
  for (const record of records) {
    if (open.size === 0) break;
    for (const [name, column] of open) {
      if (!hasField(record, name)) continue;
      used.add(column);
      open.delete(name);
    }
  }
  return live.filter((column) => used.has(column));
}

function rowOf(
  record: JsonObject,
  columns: readonly LiveColumn[],
  { matters, take }: { readonly matters: readonly boolean[] } & Pick<RowTarget, 'take'>,
): Row | undefined {
  const values: JsonValue[] = [];
  let lacks = '';
  let isKnown = false;
  for (let index = 0; index < columns.length; index += 1) {
    const { name } = columns[index] as LiveColumn;
    if (hasField(record, name)) {
      isKnown = true;
      values.push(take(record, name));
    } else if (matters[index] === true) lacks += `${index},`;
    else values.push(null);
  }
  return isKnown ? { lacks, values } : undefined;
}

/** Rows of one set keep their order. */
function inGroups(rows: readonly Row[], columns: readonly LiveColumn[]): RowSet[] {
  const groups = new Map<string, JsonValue[][]>();
  const places = new Map<string, number[]>();
  for (const { lacks, values, place } of rows) {
    const group = groups.get(lacks);
    if (group === undefined) groups.set(lacks, [values]);
    else group.push(values);
    if (place === undefined) continue;
    const known = places.get(lacks);
    if (known === undefined) places.set(lacks, [place]);
    else known.push(place);
  }
  return [...groups].map(([lacks, values]) => {
    const set = { columns: without(columns, lacks), rows: values };
    const known = places.get(lacks);
    return known === undefined ? set : { ...set, places: known };
  });
}

/** All rows keep their order. */
function inRuns(rows: readonly Row[], columns: readonly LiveColumn[]): RowSet[] {
  const runs: { columns: readonly LiveColumn[]; rows: JsonValue[][] }[] = [];
  let before: string | undefined;
  for (const { lacks, values } of rows) {
    if (lacks === before) runs.at(-1)?.rows.push(values);
    else runs.push({ columns: without(columns, lacks), rows: [values] });
    before = lacks;
  }
  return runs;
}

function without(columns: readonly LiveColumn[], lacks: string): readonly LiveColumn[] {
  if (lacks === '') return columns;
  const lacking = new Set(lacks.split(','));
  return columns.filter((_, index) => !lacking.has(String(index)));
}

const TEXT_TYPE = /^(?:text|string|varchar|character varying)$/i;

/**
 * Whether keys with different texts are different for the database too. Otherwise the last of two
 * records may have to win over one of another set.
 */
function hasPlainKeys(records: readonly JsonObject[], key: readonly LiveColumn[]): boolean {
  return key.every(({ name, sqlType }) => {
    const isText = TEXT_TYPE.test(sqlType);
    return records.every((record) => typeof record[name] !== 'string' || isText);
  });
}

/** The keys of the rows that a change writes or deletes, in the order of `key`. */
export function keysOf({ key, writes, deletes }: TableChange): (readonly JsonValue[])[] {
  const written = writes.flatMap(({ columns, rows }) => {
    const places = key.map(({ name }) => columns.findIndex((column) => column.name === name));
    return rows.map((row) => places.map((place) => row[place] ?? null));
  });
  return [...written, ...deletes];
}
