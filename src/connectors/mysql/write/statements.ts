/** The statements that write a page. */
import { backticked } from '../../../lib/sql/mysql-address.ts';
import type { JsonValue } from '../../../lib/text/json.ts';
import type { TableChange } from '../../_sql/driver.ts';
import { valueSql, type Encoder } from './encode.ts';

export function nameList(names: readonly string[]): string {
  return names.map(backticked).join(', ');
}

export interface Insertion {
  readonly table: string;
  readonly encoders: readonly Encoder[];
  readonly mode: TableChange['mode'];
  readonly key: readonly string[];
  /** Whether the table has further unique indexes than the one of the key. */
  readonly hasOtherKeys: boolean;
}

export interface Chunks {
  /** Most rows of one statement. */
  readonly rows: number;
  /** About the most characters of one. */
  readonly size: number;
}

export interface InsertStatement {
  readonly sql: string;
  /** Index of its first row. */
  readonly from: number;
}

/** One statement after the other, for rows in their order. */
export function* insertStatements(
  insertion: Insertion,
  rows: readonly (readonly JsonValue[])[],
  most: Chunks,
): Generator<InsertStatement, void> {
  const { table, encoders } = insertion;
  const head = `INSERT INTO ${backticked(table)} (${nameList(encoders.map(({ name }) => name))}) VALUES `;
  const tail = insertion.mode === 'upsert' ? ` ON DUPLICATE KEY UPDATE ${updates(insertion)}` : '';
  let parts: string[] = [];
  let size = 0;
  let from = 0;
  for (const row of rows) {
    const values = `(${encoders.map((encoder, index) => valueSql(encoder, row[index] ?? null)).join(',')})`;
    if (parts.length > 0 && (parts.length >= most.rows || size + values.length > most.size)) {
      yield { sql: head + parts.join(',') + tail, from };
      from += parts.length;
      parts = [];
      size = 0;
    }
    parts.push(values);
    size += values.length;
  }
  if (parts.length > 0) yield { sql: head + parts.join(',') + tail, from };
}

/**
 * A row that another unique index finds is not the row of the key: the second subquery gives two rows,
 * which is an error of the server.
 */
function updates({ encoders, key, hasOtherKeys }: Insertion): string {
  const names = encoders.map(({ name }) => name);
  const others = names.filter((name) => !key.includes(name));
  const assigned = (name: string): string => `${backticked(name)} = VALUES(${backticked(name)})`;
  const [first = ''] = key;
  const guard = `${backticked(first)} = IF(${key
    .map((name) => `${backticked(name)} <=> VALUES(${backticked(name)})`)
    .join(' AND ')}, VALUES(${backticked(first)}), ${twoRows(backticked(first))})`;
  const rest = others.map(assigned);
  if (hasOtherKeys) return [guard, ...rest].join(', ');
  return rest.length === 0 ? assigned(first) : rest.join(', ');
}

function twoRows(column: string): string {
  return `(SELECT ${column} UNION ALL SELECT ${column})`;
}

/** Subquery returns more than one row. */
export const TWO_ROWS = 1242;

/** The condition for a row with one of the keys. */
export function keyCondition(
  encoders: readonly Encoder[],
  keys: readonly (readonly JsonValue[])[],
): string {
  const [only] = encoders;
  if (encoders.length === 1 && only !== undefined)
    return `${backticked(only.name)} IN (${keys.map(([value = null]) => valueSql(only, value)).join(',')})`;
  return keys
    .map(
      (key) =>
        `(${encoders.map((encoder, index) => `${backticked(encoder.name)} = ${valueSql(encoder, key[index] ?? null)}`).join(' AND ')})`,
    )
    .join(' OR ');
}
