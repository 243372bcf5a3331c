/**
 * The statements that write a page. Rows are text columns `c0`, `c1`, … of a relation `r`, and the
 * server converts them to the types of the columns.
 */
import { createHash } from 'node:crypto';
import { quoteName, quoteNames } from '../../../lib/sql/sql-name.ts';
import type { LiveColumn, TableChange } from '../../_sql/driver.ts';

type Column = Pick<LiveColumn, 'name' | 'sqlType'>;

/** The properties of a change that an insertion needs. */
export interface Insertion extends Pick<TableChange, 'mode'> {
  readonly columns: readonly Column[];
  readonly key: readonly Column[];
}

/** Rows given as one text array for each column. */
export function fromArrays(width: number): string {
  const arrays = Array.from({ length: width }, (_, index) => `$${index + 1}::text[]`);
  return `unnest(${arrays.join(', ')}) WITH ORDINALITY AS r(${slots(width).join(', ')}, n)`;
}

/**
 * A temporary table for rows of a COPY stream, with their final types. It is emptied at the end of
 * the transaction; rows of the same types use the same one.
 */
export function arrivalTable(columns: readonly Column[]): {
  readonly create: string;
  /** For a further use in the same transaction. */
  readonly empty: string;
  readonly copy: string;
  readonly from: string;
} {
  const types = columns.map((column) => column.sqlType);
  const name = `svc_page_${createHash('sha256').update(JSON.stringify(types)).digest('hex').slice(0, 16)}`;
  const definitions = types.map((type, index) => `c${index} ${type}`);
  return {
    create: `CREATE TEMP TABLE IF NOT EXISTS ${name} (${definitions.join(', ')}) ON COMMIT DELETE ROWS`,
    empty: `TRUNCATE pg_temp.${name}`,
    copy: `COPY pg_temp.${name} FROM STDIN`,
    // A table that was empty keeps rows in the order of their insertion.
    from: `(SELECT ctid AS n, * FROM pg_temp.${name}) AS r`,
  };
}

export function insertInto(table: string, change: Insertion, from: string): string {
  const names = change.columns.map((column) => column.name);
  const values = change.columns.map(castSlot).join(', ');
  const head = `INSERT INTO ${table} (${quoteNames(names)}) OVERRIDING SYSTEM VALUE`;
  if (change.mode === 'insert') return `${head} SELECT ${values} FROM ${from} ORDER BY r.n`;
  const keys = change.key.map((column) => column.name);
  const keySlots = change.key
    .map((column) => castSlot(column, names.indexOf(column.name)))
    .join(', ');
  // Keys with different texts can be equal for the server, and one statement may change a row only
  // once: the last one is used. Rows are locked in the order of their keys, so that writers of the
  // same rows wait for each other instead of deadlocking.
  return `${head} SELECT DISTINCT ON (${keySlots}) ${values} FROM ${from} ORDER BY ${keySlots}, r.n DESC
    ON CONFLICT (${quoteNames(keys)}) ${onConflict(names, keys)}`;
}

export function deleteFrom(table: string, key: readonly LiveColumn[], from: string): string {
  const same = key.map(
    (column, index) => `t.${quoteName(column.name)} = ${castSlot(column, index)}`,
  );
  return `DELETE FROM ${table} AS t USING ${from} WHERE ${same.join(' AND ')}`;
}

/**
 * Deletes rows in the scope whose key is not listed. Parameters: one array for each key column,
 * then one value for each scope column.
 */
export function deleteVanished(
  table: string,
  scope: readonly Column[],
  key: readonly Column[],
): string {
  return `DELETE FROM ${table} AS t WHERE ${vanished(scope, key)}`;
}

/** The condition for a row `t` that no longer exists at the source. */
export function vanished(scope: readonly Column[], key: readonly Column[]): string {
  const inside = scope.map(({ name, sqlType }, index) => {
    return `t.${quoteName(name)} IS NOT DISTINCT FROM $${key.length + index + 1}::text::${sqlType}`;
  });
  const same = key.map(
    (column, index) => `t.${quoteName(column.name)} = ${castSlot(column, index)}`,
  );
  return [
    ...inside,
    `NOT EXISTS (SELECT 1 FROM ${fromArrays(key.length)} WHERE ${same.join(' AND ')})`,
  ].join(' AND ');
}

function onConflict(names: readonly string[], keys: readonly string[]): string {
  const rest = names.filter((name) => !keys.includes(name)).map(quoteName);
  return rest.length === 0
    ? 'DO NOTHING'
    : `DO UPDATE SET ${rest.map((name) => `${name} = excluded.${name}`).join(', ')}`;
}

export function castSlot(column: Column, index: number): string {
  return `r.c${index}::${column.sqlType}`;
}

function slots(width: number): string[] {
  return Array.from({ length: width }, (_, index) => `c${index}`);
}
