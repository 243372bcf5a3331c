import { ConnectorError, RecordError } from '../../lib/errors.ts';
import {
  hasField,
  isObject,
  stringifyJson,
  type JsonObject,
  type JsonValue,
} from '../../lib/text/json.ts';
import type { Rejection } from '../../kit/sink.ts';
import { planKeyedPage, type KeyedSpec } from '../../kit/write-spec.ts';
import type { LiveColumn, TableChange } from './driver.ts';
import type { ColumnMapping } from './column-mapping.ts';

/** What a page changes, before the table is known. */
export interface PagePlan {
  readonly upserts: readonly JsonValue[];
  readonly deletes: readonly JsonObject[];
  readonly rejected: readonly Rejection[];
}

export function planPage(
  records: readonly JsonValue[],
  mapping: ColumnMapping,
  spec: KeyedSpec | undefined,
): PagePlan {
  if (spec !== undefined) {
    const plan = planKeyedPage(records, spec);
    return {
      upserts: plan.upserts.map((one) => one.record),
      deletes: plan.deletes.map((one) => one.record),
      rejected: plan.rejected,
    };
  }
  if (mapping.kind === 'json' || records.every(isObject))
    return { upserts: records, deletes: [], rejected: [] };
  const rejected: Rejection[] = [];
  for (const [index, record] of records.entries()) {
    if (!isObject(record))
      rejected.push({ index, error: new RecordError('Sink', 'the record is not an object') });
  }
  return { upserts: records.filter(isObject), deletes: [], rejected };
}

export type PageRows = Omit<TableChange, 'table' | 'commit'> & {
  /** Records without any field that is a column. */
  readonly skipped: number;
};

interface Shape {
  readonly live: readonly LiveColumn[];
  readonly mapping: ColumnMapping;
  readonly key: readonly string[];
}

/** Converts a plan to rows for the columns of the table. */
export function rowsOf(plan: PagePlan, { live, mapping, key }: Shape): PageRows {
  if (mapping.kind === 'json') {
    const columns = pick(live, [mapping.column]);
    const rows = plan.upserts.map((record) => [stringifyJson(record)]);
    return { columns, rows, mode: 'insert', finished: true, key: [], deletes: [], skipped: 0 };
  }
  const records = plan.upserts as readonly JsonObject[];
  const columns = usedColumns(records, live);
  const known = records.filter((record) => columns.some((column) => hasField(record, column.name)));
  const keyColumns = pick(live, key);
  return {
    columns,
    rows: known.map((record) => valuesOf(record, columns)),
    mode: key.length > 0 ? 'upsert' : 'insert',
    finished: false,
    key: keyColumns,
    deletes: plan.deletes.map((record) => valuesOf(record, keyColumns)),
    skipped: records.length - known.length,
  };
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

function valuesOf(record: JsonObject, columns: readonly LiveColumn[]): JsonValue[] {
  return columns.map(({ name }) => (hasField(record, name) ? (record[name] ?? null) : null));
}

function pick(live: readonly LiveColumn[], names: readonly string[]): LiveColumn[] {
  return names.map((name) => {
    const column = live.find((one) => one.name === name);
    if (column !== undefined) return column;
    throw new ConnectorError('missing', `the table has no column \`${name}\``, {
      hint: `columns: ${live.map((one) => one.name).join(', ')}`,
    });
  });
}
