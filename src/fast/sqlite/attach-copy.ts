/**
 * Lets SQLite copy rows from another database file: one INSERT … SELECT per page, each in a
 * transaction of its own.
 */
import { statSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import type { DatabaseSync, SQLInputValue } from 'node:sqlite';
import { onConflict, quoteName, quoteNames } from '../../lib/sql/sql-name.ts';
import { rollBack } from '../../lib/sql/sqlite.ts';
import { quoteText } from '../../lib/sql/duckdb.ts';
import type { Page } from '../../kit/page.ts';
import { rowsOfPage, selectRows, type RowsOfBlock } from './row-blocks.ts';

export interface AttachCopyOptions {
  readonly table: string;
  /** Names of the columns that can be written. */
  readonly live: readonly string[];
  /** Those of them that store every number as REAL. */
  readonly real: readonly string[];
  /** Those that make numbers of texts that spell one. */
  readonly numeric: readonly string[];
  /** Empty when rows are appended. */
  readonly key: readonly string[];
  /** Does what else belongs into the transaction. */
  finish(db: DatabaseSync): void;
}

/**
 * `connect` opens another connection to the destination, so that other statements do not see the names
 * of the source.
 */
export class AttachCopy {
  readonly #connect: () => DatabaseSync;
  readonly #destination: string;
  #db: DatabaseSync | undefined;
  #attached: string | undefined;
  /** Files that could not be attached to the destination. */
  readonly #refused = new Set<string>();

  constructor(destination: string, connect: () => DatabaseSync) {
    this.#destination = destination;
    this.#connect = connect;
  }

  /**
   * False, with nothing changed, when the page must be written as records. After a failure as well:
   * writing records then succeeds, or reports the error.
   */
  write(page: Page, options: AttachCopyOptions): boolean {
    const rows = rowsOfPage(page);
    if (rows === undefined || this.#refused.has(rows.source.path) || !rows.source.isUnchanged())
      return false;
    const columns = options.live.filter((name) =>
      rows.source.columns.some((column) => column.name === name),
    );
    if (columns.length === 0 || options.key.some((name) => !columns.includes(name))) return false;
    const db = this.#attach(rows.source.path);
    if (db === undefined) return false;
    const move = new RowMove(db, rows, { ...options, columns });
    try {
      // The write lock of the destination also fixes a snapshot of the source, which must be the one
      // that the page was made from.
      db.exec('BEGIN IMMEDIATE');
      const isDone =
        rows.source.isUnchanged() &&
        move.keepsDigits() &&
        move.hasOwnKeys(page.count) &&
        move.insert() === page.count;
      if (isDone) {
        options.finish(db);
        db.exec('COMMIT');
      }
      return isDone;
    } catch {
      return false;
    } finally {
      rollBack(db);
    }
  }

  close(): void {
    this.#db?.close();
    this.#db = undefined;
  }

  #attach(path: string): DatabaseSync | undefined {
    try {
      if (isSameFile(path, this.#destination))
        throw new Error('a table of the file is read while it is written');
      this.#db ??= this.#connect();
      if (this.#attached === path) return this.#db;
      if (this.#attached !== undefined) this.#db.exec(`DETACH ${SCHEMA}`);
      this.#attached = undefined;
      // A literal: where files are restricted, the result of an expression cannot be checked.
      this.#db.exec(`ATTACH ${quoteText(`${pathToFileURL(path).href}?mode=ro`)} AS ${SCHEMA}`);
      this.#attached = path;
      return this.#db;
    } catch {
      this.#refused.add(path);
      return undefined;
    }
  }
}

const SCHEMA = 'headgate_source';

function isSameFile(one: string, other: string): boolean {
  const [a, b] = [statSync(one, { bigint: true }), statSync(other, { bigint: true })];
  return a.ino === b.ino && a.dev === b.dev;
}

/** A double holds every decimal number of so many digits. */
const EXACT_DIGITS = 15;

interface Target extends Pick<AttachCopyOptions, 'table' | 'key' | 'real' | 'numeric'> {
  /** Those that the rows fill. */
  readonly columns: readonly string[];
}

/** The statements for the rows of one page. */
class RowMove {
  readonly #db: DatabaseSync;
  readonly #target: Target;
  readonly #rows: RowsOfBlock;
  /** The rows as a table `q` with a column `c…` for each of theirs. */
  readonly #with: string;
  readonly #values: SQLInputValue[];

  constructor(db: DatabaseSync, rows: RowsOfBlock, target: Target) {
    const { sql, values } = selectRows(rows, SCHEMA);
    this.#db = db;
    this.#target = target;
    this.#rows = rows;
    this.#with = `WITH q(${rows.source.columns.map((_, index) => `c${index}`).join(', ')}) AS (${sql})`;
    this.#values = values;
  }

  /** Gives the number of rows that were added or replaced. */
  insert(): number {
    const { table, columns: names, key } = this.#target;
    const values = names.map((name) => this.#raw(name));
    const insert = `${this.#with} INSERT INTO main.${quoteName(table)} (${quoteNames(names)}) SELECT ${values.join(', ')} FROM q`;
    return Number(
      this.#db
        .prepare(
          key.length === 0
            ? insert
            : `${insert} WHERE true ON CONFLICT (${quoteNames(key)}) ${onConflict(names, key)}`,
        )
        .run(...this.#values).changes,
    );
  }

  /**
   * REAL would round larger integers, and numbers are made of texts with fewer digits than these
   * may have: as records such values are counted or refused.
   */
  keepsDigits(): boolean {
    const { columns, real, numeric } = this.#target;
    const large = columns
      .filter((name) => real.includes(name))
      .map((name) => {
        const value = this.#raw(name);
        return `(typeof(${value}) = 'integer' AND ${value} NOT BETWEEN ${Number.MIN_SAFE_INTEGER} AND ${Number.MAX_SAFE_INTEGER})`;
      });
    const long = columns
      .filter((name) => numeric.includes(name) && this.#holdsTexts(name))
      .map((name) => {
        const value = this.#raw(name);
        return `(typeof(${value}) = 'text' AND length(${value}) > ${EXACT_DIGITS} AND ${value} GLOB '*[0-9]*' AND ${value} NOT GLOB '*[A-DF-Za-df-z]*')`;
      });
    large.push(...long);
    if (large.length === 0) return true;
    const found = this.#db
      .prepare(`${this.#with} SELECT 1 FROM q WHERE ${large.join(' OR ')} LIMIT 1`)
      .get(...this.#values);
    return found === undefined;
  }

  /**
   * Records of a page with one key are folded into one, and a key may not be null. Keys are equal
   * as records when their texts are; texts that spell JSON could be equal to others.
   */
  hasOwnKeys(count: number): boolean {
    const { key } = this.#target;
    if (key.length === 0) return true;
    if (key.some((name) => this.#isBoolean(name))) return false;
    const columns = key.map((name) => this.#raw(name));
    const texts = columns.map((column) => `CAST(${column} AS TEXT)`);
    const distinct = `SELECT DISTINCT ${texts.join(', ')} FROM q WHERE ${columns.map(isPlainKey).join(' AND ')}`;
    const found = this.#db
      .prepare(`${this.#with} SELECT count(*) AS own FROM (${distinct})`)
      .get(...this.#values);
    return found?.['own'] === count;
  }

  /** Columns of numbers hold no text that spells one. */
  #holdsTexts(name: string): boolean {
    const declared = this.#rows.source.columns.find((one) => one.name === name)?.declared ?? '';
    return declared === '' || (/char|clob|text|blob|any/i.test(declared) && !/int/i.test(declared));
  }

  /** As records all values but 0 are equal there. */
  #isBoolean(name: string): boolean {
    const column = this.#rows.source.columns.find((one) => one.name === name);
    return /^bool/i.test(column?.declared ?? '');
  }

  #raw(name: string): string {
    return `q.c${this.#rows.source.columns.findIndex((column) => column.name === name)}`;
  }
}

/** Whether a value is written in the only way there is to write it. */
function isPlainKey(column: string): string {
  return `(typeof(${column}) = 'integer' OR (typeof(${column}) = 'text' AND (NOT json_valid(${column}) OR ${column} NOT GLOB '*[^0-9]*') AND ${column} NOT GLOB '[["{ \t\n\r]*'))`;
}
