/** Parts of the result of a query and digests of them, computed by the server. */
import type { FieldDef } from 'pg';
import { quoteName } from '../../../lib/sql/sql-name.ts';
import type { SourceContext } from '../../../kit/context.ts';
import type {
  ColumnHolds,
  DigestRequest,
  ResultColumn,
  ResultShape,
  Slices,
} from '../../../kit/source.ts';
import { inner, keyColumn, PART, spansCondition } from '../../_sql/key-spans.ts';
import type { PostgresSourceConfig } from '../config.ts';
import { openConnection } from '../../_postgres/connection.ts';
import { declareQuery } from './declare.ts';
import { describeCursor } from '../../_postgres/cursor.ts';
import { typesOf } from '../types/logical-types.ts';
import type { RecordField } from '../../../kit/record-schema.ts';
import { holdsFor } from '../../../kit/typed-values.ts';
import { OID } from '../../_postgres/decode.ts';
import { compileQuery } from '../../_postgres/query.ts';

const NUMBER_OIDS: ReadonlySet<number> = new Set([
  OID.int2,
  OID.int4,
  OID.int8,
  OID.oid,
  OID.float4,
  OID.float8,
  OID.numeric,
]);
const BPCHAR = 1042;
/** "char", name, text, varchar. */
const TEXT_OIDS: ReadonlySet<number> = new Set([18, 19, 25, 1043]);
const VARIABLE_TEXT_OIDS: ReadonlySet<number> = new Set([25, 1043]);

/** Describes the columns of the result without reading it. */
export async function describeResult(
  config: PostgresSourceConfig,
  context: SourceContext,
): Promise<ResultShape> {
  const { connection_url: url, read_timeout_secs: timeoutSecs, query, params } = config;
  const connection = await openConnection({ url, timeoutSecs, signal: context.signal });
  try {
    const statement = compileQuery({ query, params, records: context.records });
    await connection.ask(() => declareQuery(connection, statement));
    const fields = await describeCursor(connection);
    const { schema } = await typesOf(connection, fields);
    return { columns: fields.map((field, index) => columnOf(field, schema.fields[index])) };
  } finally {
    await connection.close();
  }
}

function columnOf(
  { name, dataTypeID: oid, dataTypeModifier: modifier }: FieldDef,
  field: RecordField | undefined,
): ResultColumn {
  const type = typeName(oid, modifier);
  if (field === undefined) return { name, type };
  const holds = holdsOf(oid, field);
  return { name, field, type, ...(holds === undefined ? {} : { holds }) };
}

/** Types that keep no text as it is given are compared by the spelling of the server. */
function holdsOf(oid: number, { type }: RecordField): ColumnHolds | undefined {
  if (oid === BPCHAR) return 'padded';
  return type.kind === 'utf8' && !TEXT_OIDS.has(oid) ? undefined : holdsFor(type);
}

/** Types that share a name give equal values the same text in a digest. */
function typeName(oid: number, modifier: number): string {
  if (oid === OID.numeric) return 'numeric';
  if (NUMBER_OIDS.has(oid)) return 'number';
  if (VARIABLE_TEXT_OIDS.has(oid)) return 'text';
  return oid === OID.json || oid === OID.jsonb ? 'json' : `${oid}(${modifier})`;
}

export const postgresSlices: Slices<PostgresSourceConfig> = {
  bounds: (config, key) => {
    const column = keyColumn(key);
    const strange = `count(${column}) FILTER (WHERE pg_typeof(${column})::text NOT IN ('smallint', 'integer', 'bigint'))`;
    return asking(
      config,
      `SELECT min(${column})::text AS low, max(${column})::text AS high, ${strange} AS strange FROM ${inner(config.query)}`,
    );
  },
  within: (config, key, spans) =>
    asking(config, `SELECT * FROM ${inner(config.query)} WHERE ${spansCondition(key, spans)}`),
  digests: { algorithm, config: digesting },
};

/** The same source with another query, and without incremental reading. */
function asking(config: PostgresSourceConfig, query: string): PostgresSourceConfig {
  return { ...config, query, replication: { type: 'full' } };
}

function algorithm(shape: ResultShape, columns: readonly string[]): string {
  const types = new Map(
    shape.columns.map(({ name, type }) => [name, type === 'numeric' ? 'number' : type]),
  );
  return `postgres jsonb sha256 ${JSON.stringify([...columns].sort().map((name) => [name, types.get(name) ?? null]))}`;
}

/** Arguments a function call can take, in pairs. */
const MOST_PAIRS = 50;

function digesting(
  config: PostgresSourceConfig,
  { key, cuts, spans, columns, shape }: DigestRequest,
): PostgresSourceConfig {
  const wanted = new Set(columns);
  const others = shape.columns
    .filter(({ name }) => !wanted.has(name))
    .map(({ name }) => literal(name));
  const decimals = shape.columns
    .filter(({ name, type }) => type === 'numeric' && wanted.has(name))
    .map(({ name }) => name);
  const counted = [
    `to_jsonb(${PART})${others.length === 0 ? '' : ` - ARRAY[${others.join(', ')}]::text[]`}`,
    ...chunks(decimals, MOST_PAIRS).map(
      (names) =>
        `jsonb_build_object(${names.map((name) => `${literal(name)}, trim_scale(${PART}.${quoteName(name)}::numeric)`).join(', ')})`,
    ),
  ].join(' || ');
  const part = cuts.length === 0 ? '0' : `width_bucket(key, ARRAY[${cuts.join(', ')}]::bigint[])`;
  return asking(
    config,
    `SELECT CASE WHEN key IS NULL THEN NULL ELSE ${part} END AS part, count(*) AS rows, min(key)::text AS low, max(key)::text AS high,
       concat_ws('/', sum(head), sum(tail), bit_xor(head), bit_xor(tail)) AS digest
     FROM (
       SELECT key, ('x' || substr(print, 1, 16))::bit(64)::bigint AS head, ('x' || substr(print, 17, 16))::bit(64)::bigint AS tail
       FROM (
         SELECT ${keyColumn(key)}::bigint AS key, encode(sha256(convert_to(jsonb_strip_nulls(${counted})::text, 'UTF8')), 'hex') AS print
         FROM ${inner(config.query)} WHERE ${spansCondition(key, spans)}
       ) AS svc_print
     ) AS svc_halves
     GROUP BY 1`,
  );
}

function literal(text: string): string {
  return text.includes('\\')
    ? `E'${text.replaceAll('\\', '\\\\').replaceAll("'", "''")}'`
    : `'${text.replaceAll("'", "''")}'`;
}

function chunks<T>(items: readonly T[], size: number): T[][] {
  return Array.from({ length: Math.ceil(items.length / size) }, (_, index) =>
    items.slice(index * size, (index + 1) * size),
  );
}
