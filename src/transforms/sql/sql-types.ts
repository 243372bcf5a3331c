/**
 * Which types the columns of `batch` get, and which the result of the query then has: the engine is
 * asked, before it sees a record.
 */
import { DUCKDB_SYSTEM, duckdbTypeFor } from '../../kit/duckdb-types.ts';
import {
  UNKNOWN_SCHEMA,
  type RecordField,
  type RecordSchema,
  type RecordType,
} from '../../kit/record-schema.ts';
import type { DuckDBConnection } from '../../lib/sql/duckdb.ts';
import {
  QueryDescription,
  type Layout,
  type QueryToDescribe,
  type ResultColumns,
} from './sql-description.ts';
import type { Shape } from './sql-shapes.ts';

export interface DescribedQuery extends ResultColumns {
  /** The first that the query accepts; all of them, where only records can tell. */
  readonly layouts: readonly Layout[];
}

const UNKNOWN_SHAPE: Shape = { is: 'unknown' };

export async function describeQuery(
  connection: DuckDBConnection,
  query: QueryToDescribe,
  input: RecordSchema,
): Promise<DescribedQuery> {
  const describe: DescribeWith = async (asTexts) => {
    const layout = layoutFor(input, query, asTexts);
    const result = await new QueryDescription(connection, query, { input, layout }).columns();
    if (result === undefined) return undefined;
    return { layouts: [carrying(layout, query, result)], ...result };
  };
  const typed = await describe([]);
  if (typed !== undefined) return typed;
  // Queries may treat times, dates and decimals as the texts that records hold.
  const texts = input.fields.filter(({ type }) => hasOwnText(type));
  return (
    (await describeWithTexts(texts, describe)) ?? {
      layouts: [[], ...(texts.length === 0 ? [] : [texts])].map((asTexts) =>
        layoutFor(input, query, asTexts),
      ),
      schema: UNKNOWN_SCHEMA,
      handedOn: new Map(),
    }
  );
}

type DescribeWith = (asTexts: readonly RecordField[]) => Promise<DescribedQuery | undefined>;

/** As few of the fields as possible are texts. */
async function describeWithTexts(
  fields: readonly RecordField[],
  describe: DescribeWith,
): Promise<DescribedQuery | undefined> {
  for (const field of fields) {
    const one = await describe([field]);
    if (one !== undefined) return one;
  }
  if (fields.length < 2) return undefined;
  let described = await describe(fields);
  if (described === undefined) return undefined;
  let texts = fields;
  for (const field of fields) {
    const fewer = texts.filter((text) => text !== field);
    const better = await describe(fewer);
    if (better !== undefined) [texts, described] = [fewer, better];
  }
  return described;
}

function layoutFor(
  input: RecordSchema,
  query: QueryToDescribe,
  asTexts: readonly RecordField[],
): Layout {
  const typed = new Map<string, Shape>();
  for (const field of input.fields) {
    const sqlType = asTexts.includes(field) ? 'VARCHAR' : sqlTypeIn(field, query);
    if (sqlType !== undefined) typed.set(field.name, { is: 'typed', sqlType });
  }
  const names = input.others === true ? [] : input.fields.map(({ name }) => name);
  const start = new Map(names.map((name) => [name, typed.get(name) ?? UNKNOWN_SHAPE] as const));
  return { typed, start, asTexts: asTexts.map(({ name }) => name), carried: new Set() };
}

/** What only passes through stays as it is: the engine need not be able to hold it. */
function carrying(layout: Layout, query: QueryToDescribe, result: ResultColumns): Layout {
  if (query.compares) return layout;
  const passing = [...result.handedOn.values()].filter(({ name }) => query.handedOn(name));
  const carried = passing.filter(({ type }) => isNestedOrJson(type));
  const texts = passing.filter(({ type }) => hasOwnText(type));
  const typed = new Map([
    ...layout.typed,
    ...texts.map(({ name }) => [name, { is: 'typed', sqlType: 'VARCHAR' }] as const),
    ...carried.map(({ name }) => [name, { is: 'typed', sqlType: 'BIGINT' }] as const),
  ]);
  const start = new Map([...layout.start].map(([name, shape]) => [name, typed.get(name) ?? shape]));
  return { ...layout, typed, start, carried: new Set(carried.map(({ name }) => name)) };
}

function isNestedOrJson({ kind }: RecordType): boolean {
  return kind === 'json' || kind === 'list' || kind === 'struct' || kind === 'map';
}

/** `undefined` when the type is learned from the values. */
function sqlTypeIn(
  { name, type, native }: RecordField,
  { handedOn }: QueryToDescribe,
): string | undefined {
  if (type.kind === 'json') return handedOn(name) ? 'JSON' : undefined;
  if (native?.system === DUCKDB_SYSTEM) return native.name;
  // Its arrays may have several dimensions, which their type does not tell.
  if (native?.system === 'postgres' && type.kind === 'list') return undefined;
  // The engine has no instants of nanoseconds.
  const isFine = type.kind === 'timestamp' && type.unit === 'ns' && type.zone !== undefined;
  return isFine ? 'VARCHAR' : duckdbTypeFor(type);
}

/** Types of the engine whose values are texts in records. */
const OWN_TEXTS = new Set(['decimal', 'date', 'time', 'timestamp', 'uuid', 'binary']);

function hasOwnText(type: RecordType): boolean {
  return OWN_TEXTS.has(type.kind) && duckdbTypeFor(type) !== 'VARCHAR';
}
