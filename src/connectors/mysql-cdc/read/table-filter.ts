/** Which tables are read, by `include_tables` and `exclude_tables`. */
import { isOwnTable } from '../../_cdc/own-tables.ts';
import type { TableName } from './table-map.ts';

export interface FilterConfig {
  readonly include_tables: readonly string[];
  readonly exclude_tables: readonly string[];
}

/** Where the server keeps what it needs itself; read only where they are named. */
const OF_THE_SERVER: ReadonlySet<string> = new Set([
  'information_schema',
  'mysql',
  'performance_schema',
  'sys',
]);

export class TableFilter {
  readonly #included: ReadonlySet<string>;
  readonly #excluded: ReadonlySet<string>;
  readonly #names: readonly string[];

  constructor({ include_tables: included, exclude_tables: excluded }: FilterConfig) {
    this.#included = new Set(included);
    this.#excluded = new Set(excluded);
    this.#names = included.map((name) => splitName(name).table.toLowerCase());
  }

  reads({ schema, table }: TableName): boolean {
    const name = `${schema}.${table}`;
    if (this.#included.size > 0) return this.#included.has(name);
    return !OF_THE_SERVER.has(schema) && !isOwnTable(table) && !this.#excluded.has(name);
  }

  /** Whether a statement whose table is not known could change one that is read. */
  mayConcern(schema: string, sql: string): boolean {
    if (this.#included.size === 0) return !OF_THE_SERVER.has(schema);
    const text = sql.toLowerCase();
    return this.#names.some((name) => text.includes(name));
  }
}

/** `db.table`; the name of a table may hold further dots. */
export function splitName(name: string): TableName {
  const dot = name.indexOf('.');
  return { schema: name.slice(0, dot), table: name.slice(dot + 1) };
}
