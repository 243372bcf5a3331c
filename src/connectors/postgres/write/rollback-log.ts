/**
 * The rollback log in PostgreSQL: one statement stores the rows that a page will change, however
 * the page is written.
 */
import type { ClientBase } from 'pg';
import { quoteName } from '../../../lib/sql/sql-name.ts';
import type { RollbackDialect, LiveColumn } from '../../_sql/driver.ts';
import { ROLLBACK_LOG_COLUMNS, ROLLBACK_LOG_KEY, labelOf } from '../../_sql/rollback-log.ts';
import { castSlot, fromArrays, vanished } from './statements.ts';

export const ROLLBACK_LOG_LINES = [
  ...ROLLBACK_LOG_COLUMNS.map((name) =>
    name === 'recorded_at'
      ? `${name} timestamptz NOT NULL`
      : `${name} text${name === 'before_json' ? '' : ' NOT NULL'}`,
  ),
  `PRIMARY KEY (${ROLLBACK_LOG_KEY.join(', ')})`,
];

const INTO = `(${ROLLBACK_LOG_COLUMNS.join(', ')})`;

export function rollbackDialect(qualified: (table: string) => string): RollbackDialect {
  return {
    slot: (place) => `$${place}`,
    table: qualified,
    json: (text) => `(${text})::json`,
    decode: (text, column) => `CAST(${text} AS ${column.sqlType})`,
    images: {
      join: 'CROSS JOIN LATERAL json_array_elements(j.before_json::json) AS e(image)',
      image: 'e.image',
    },
    labels: (image) => `LATERAL json_object_keys(${image}) AS k(key)`,
    overriding: 'OVERRIDING SYSTEM VALUE',
    now: 'clock_timestamp()',
  };
}

/**
 * Values are stored as text, because a JSON null would be the same as an SQL null, and JSON could
 * round numbers.
 */
function imageOf(columns: readonly LiveColumn[]): string {
  const labels = columns.map(({ name }) => `'${labelOf(name)}'`);
  const values = columns.map(({ name }) => `t.${quoteName(name)}::text`);
  return `json_object(ARRAY[${labels.join(', ')}], ARRAY[${values.join(', ')}])`;
}

function keyOf(values: readonly string[]): string {
  return `json_build_array(${values.map((value) => `${value}::text`).join(', ')})::text`;
}

export interface LogTarget {
  /** Quoted and qualified. */
  readonly table: string;
  readonly logTable: string;
  readonly runId: string;
  /** The bare name of the table. */
  readonly name: string;
  readonly columns: readonly LiveColumn[];
  readonly key: readonly LiveColumn[];
}

/**
 * Stores the rows that have one of the keys (one array of texts per column), and the keys without a
 * row.
 */
export async function logKeys(
  client: ClientBase,
  on: LogTarget,
  keys: readonly (readonly (string | null)[])[],
): Promise<void> {
  const { table, logTable, columns, key } = on;
  const places = key.map((column, index) => `${castSlot(column, index)} AS k${index}`);
  const names = key.map((_, index) => `r.k${index}`);
  const same = key.map(({ name }, index) => `t.${quoteName(name)} = r.k${index}`).join(' AND ');
  // Rows are locked in the same order as by the change itself.
  const text = `
    WITH r AS MATERIALIZED (SELECT DISTINCT ${places.join(', ')} FROM ${fromArrays(key.length)}),
    old AS MATERIALIZED (
      SELECT ${names.join(', ')}, ${keyOf(key.map(({ name }) => `t.${quoteName(name)}`))} AS key_json, ${imageOf(columns)} AS image
      FROM ${table} AS t JOIN r ON ${same} ORDER BY ${names.join(', ')} FOR UPDATE OF t)
    INSERT INTO ${logTable} ${INTO}
    SELECT $${key.length + 1}, $${key.length + 2}, coalesce(min(old.key_json), ${keyOf(names)}),
      CASE WHEN count(old.key_json) > 0 THEN json_agg(old.image)::text END, clock_timestamp()
    FROM r LEFT JOIN old ON ${key.map((_, index) => `old.k${index} = r.k${index}`).join(' AND ')}
    GROUP BY ${names.join(', ')} ON CONFLICT DO NOTHING`;
  await client.query({ text, values: [...keys, on.runId, on.name] });
}

/**
 * Removes rows that no longer exist at the source and stores them; returns their number. Parameters
 * as for `deleteVanished`.
 */
export async function sweepAndLog(
  client: ClientBase,
  on: LogTarget,
  { scope, values }: { readonly scope: readonly LiveColumn[]; readonly values: readonly unknown[] },
): Promise<number> {
  const text = `
    WITH gone AS (DELETE FROM ${on.table} AS t WHERE ${vanished(scope, on.key)} RETURNING t.*),
    kept AS (
      INSERT INTO ${on.logTable} ${INTO}
      SELECT $${values.length + 1}, $${values.length + 2}, ${keyOf(on.key.map(({ name }) => `t.${quoteName(name)}`))},
        json_build_array(${imageOf(on.columns)})::text, clock_timestamp()
      FROM gone AS t ON CONFLICT DO NOTHING)
    SELECT count(*) AS n FROM gone`;
  const { rows } = await client.query<{ n: string }>({
    text,
    values: [...values, on.runId, on.name],
  });
  return Number(rows[0]?.n);
}
