import { exactField } from '../../lib/text/json-literal.ts';
import { inOneCase } from '../../lib/sql/sql-name.ts';
import { ConnectorError, RecordError } from '../../lib/errors.ts';
import {
  hasField,
  isObject,
  stringifyJson,
  type JsonObject,
  type JsonValue,
} from '../../lib/text/json.ts';
import type { Rejection } from '../../kit/sink.ts';
import type { RecordSchema } from '../../kit/record-schema.ts';
import { planKeyedPage, type KeyedSpec } from '../../kit/write-spec.ts';
import { inColumnNames, type NameRules, type UnknownFields } from './column-names.ts';
import type { ColumnMapping } from './column-mapping.ts';
import type { LiveColumn, SqlDriver, TableChange } from './driver.ts';
import { rowSets } from './row-sets.ts';

/** What a page changes, before the table is known. */
export interface PagePlan {
  readonly upserts: readonly JsonValue[];
  /** Those of `upserts` whose row an earlier record of the page deletes. */
  readonly replacing?: readonly JsonObject[];
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
      replacing: plan.upserts.flatMap((one) => (one.replaces === true ? [one.record] : [])),
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
  readonly unknown: UnknownFields;
};

interface Shape {
  readonly live: readonly LiveColumn[];
  readonly mapping: ColumnMapping;
  readonly key: readonly string[];
  readonly rules: NameRules;
  /** Values in the form that the driver wants; the values of the record when absent. */
  readonly take?: SqlDriver['take'];
  /** What is known of the fields. */
  readonly schema: RecordSchema | undefined;
  /** Whether rows that are appended say which record they are. */
  readonly numbered?: boolean | undefined;
}

/** Converts a plan to rows for the columns of the table. */
export function rowsOf(
  plan: PagePlan,
  { live, mapping, key, rules, schema, numbered, take: taken = plainValue }: Shape,
): PageRows {
  if (mapping.kind === 'json') {
    const columns = pick(live, [mapping.column], rules);
    const rows = plan.upserts.map((record) => [stringifyJson(record)]);
    return { ...NOTHING, writes: [{ columns, rows }], finished: true };
  }
  const names = live.map((column) => column.name);
  const known = new Set(names);
  const given = plan.upserts as readonly JsonObject[];
  const unknown = unknownFields(given, known);
  const records = inColumnNames(given, unknown, { columns: names, rules });
  const keyColumns = pick(live, key, rules);
  const typed = new Set(schema?.fields.map(({ name }) => name));
  const take = (record: JsonObject, field: string): JsonValue =>
    taken(record, field, typed.has(field));
  const mode = key.length > 0 ? 'upsert' : 'insert';
  const { writes, skipped } = rowSets(records, {
    live,
    key: keyColumns,
    mode,
    take,
    numbered,
  });
  const keyOf = (record: JsonObject) => keyColumns.map(({ name }) => take(record, name));
  // A record with a value for every column leaves nothing of the row that it replaces.
  const replaced = inColumnNames(plan.replacing ?? [], unknown, { columns: names, rules }).filter(
    (record) => names.some((name) => !hasField(record, name)),
  );
  const deletes = inColumnNames(plan.deletes, unknownFields(plan.deletes, known), {
    columns: names,
    rules,
  });
  return {
    writes,
    mode,
    finished: false,
    key: keyColumns,
    deletes: deletes.map(keyOf),
    ...(replaced.length === 0 ? {} : { deletesBefore: replaced.map(keyOf) }),
    skipped,
    unknown: records === given ? unknown : unknownFields(records, known),
  };
}

const NOTHING = {
  mode: 'insert',
  finished: false,
  key: [],
  deletes: [],
  skipped: 0,
  unknown: new Map<string, number>(),
} as const;

function unknownFields(records: readonly JsonObject[], known: ReadonlySet<string>): UnknownFields {
  const unknown = new Map<string, number>();
  for (const record of records)
    for (const name of Object.keys(record))
      if (!known.has(name)) unknown.set(name, (unknown.get(name) ?? 0) + 1);
  return unknown;
}

function plainValue(record: JsonObject, field: string): JsonValue {
  return exactField(record, field);
}

function pick(
  live: readonly LiveColumn[],
  names: readonly string[],
  { ignoresCase }: NameRules,
): LiveColumn[] {
  return names.map((name) => {
    const column =
      live.find((one) => one.name === name) ??
      (ignoresCase ? live.find((one) => inOneCase(one.name) === inOneCase(name)) : undefined);
    if (column !== undefined) return column;
    throw new ConnectorError('missing', `the table has no column \`${name}\``, {
      hint: `columns: ${live.map((one) => one.name).join(', ')}`,
    });
  });
}
