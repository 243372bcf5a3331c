/**
 * Statements that change rows. Their values come as one text with a JSON list of rows, whose values
 * are texts, and are converted to the types of their columns.
 */
import { ConnectorError } from '../../../lib/errors.ts';
import type { LiveColumn } from '../../_sql/driver.ts';
import type { TextRow } from '../../_sql/text-rows.ts';
import { backticked, escaped } from '../names.ts';
import { readText } from './texts.ts';

/** Rows have the values of the columns, in their order. */
export interface Step {
  readonly kind: 'insert' | 'upsert' | 'delete';
  readonly columns: readonly LiveColumn[];
  readonly key: readonly LiveColumn[];
  readonly rows: readonly TextRow[];
}

export interface Limits {
  /** Rows of a statement; 0: all. */
  readonly rows: number;
  readonly bytes: number;
}

/** The statements of a step, each short enough for the server. */
export function statementsFor(table: string, step: Step, limits: Limits): string[] {
  const statementOf = WRITTEN[step.kind];
  return cut(step, limits, Buffer.byteLength(statementOf(table, step, ''))).map((list) =>
    statementOf(table, step, list),
  );
}

const WRITTEN: Readonly<Record<Step['kind'], (table: string, step: Step, list: string) => string>> =
  { insert: insertSql, upsert: upsertSql, delete: deleteSql };

/** The rows as lists for statements whose other text has `frame` bytes. */
function cut({ rows }: Step, { rows: most, bytes: mostBytes }: Limits, frame: number): string[] {
  const lists: string[] = [];
  let lines: string[] = [];
  let bytes = frame;
  for (const row of rows) {
    const line = escaped(JSON.stringify(row));
    const size = Buffer.byteLength(line) + 1;
    if (frame + size > mostBytes) throw tooLarge(mostBytes);
    if (lines.length > 0 && (lines.length === most || bytes + size > mostBytes)) {
      lists.push(lines.join(','));
      [lines, bytes] = [[], frame];
    }
    lines.push(line);
    bytes += size;
  }
  if (lines.length > 0) lists.push(lines.join(','));
  return lists;
}

function tooLarge(most: number): ConnectorError {
  return new ConnectorError(
    'data',
    `a record makes a statement of more than ${most} bytes (\`max_statement_bytes\`)`,
    { hint: 'raise `max_statement_bytes`, or load by `copy_into`' },
  );
}

/** The rows `svc_row` of a list, with the place of each. */
function rowsIn(list: string): string {
  return `(SELECT posexplode(from_json('[${list}]', 'array<array<string>>')) AS (svc_place, svc_row))`;
}

function valuesOf(columns: readonly LiveColumn[]): string {
  return columns
    .map((column, at) => `${readText(column, `svc_row[${at}]`)} AS ${backticked(column.name)}`)
    .join(', ');
}

function names(columns: readonly LiveColumn[], of = ''): string {
  return columns.map(({ name }) => `${of}${backticked(name)}`).join(', ');
}

function insertSql(table: string, { columns }: Step, list: string): string {
  return `INSERT INTO ${table} (${names(columns)}) SELECT ${valuesOf(columns)} FROM ${rowsIn(list)}`;
}

/**
 * Each key once, with its last row: keys that are told apart as texts can be the same value of their
 * column.
 */
function lastOfEach({ columns, key }: Pick<Step, 'columns' | 'key'>, list: string): string {
  const rows = `SELECT svc_place, ${valuesOf(columns)} FROM ${rowsIn(list)}`;
  const rank = `row_number() OVER (PARTITION BY ${names(key)} ORDER BY svc_place DESC)`;
  return `(SELECT ${names(columns)} FROM (SELECT *, ${rank} AS svc_rank FROM (${rows})) WHERE svc_rank = 1)`;
}

function sameKey(key: readonly LiveColumn[]): string {
  return key.map(({ name }) => `t.${backticked(name)} = s.${backticked(name)}`).join(' AND ');
}

function upsertSql(table: string, step: Step, list: string): string {
  const { columns, key } = step;
  const isKey = new Set(key.map(({ name }) => name));
  const changes = columns
    .filter(({ name }) => !isKey.has(name))
    .map(({ name }) => `${backticked(name)} = s.${backticked(name)}`);
  const update = changes.length === 0 ? '' : ` WHEN MATCHED THEN UPDATE SET ${changes.join(', ')}`;
  return `MERGE INTO ${table} AS t USING ${lastOfEach(step, list)} AS s ON ${sameKey(key)}${update} WHEN NOT MATCHED THEN INSERT (${names(columns)}) VALUES (${names(columns, 's.')})`;
}

function deleteSql(table: string, { key }: Step, list: string): string {
  return `MERGE INTO ${table} AS t USING ${lastOfEach({ columns: key, key }, list)} AS s ON ${sameKey(key)} WHEN MATCHED THEN DELETE`;
}

export interface SweepParts {
  readonly key: readonly LiveColumn[];
  readonly rows: readonly TextRow[];
  readonly scope: readonly { readonly column: LiveColumn; readonly text: string | null }[];
}

/** Removes rows of the scope whose key is not among those of the rows. */
export function sweepSql(table: string, { key, rows, scope }: SweepParts, most: number): string {
  const inside = scope.map(({ column, text }) => {
    const value = text === null ? 'NULL' : readText(column, `'${escaped(text)}'`);
    return ` AND t.${backticked(column.name)} <=> ${value}`;
  });
  const list = rows.map((row) => escaped(JSON.stringify(row))).join(',');
  const sql = `MERGE INTO ${table} AS t USING ${lastOfEach({ columns: key, key }, list)} AS s ON ${sameKey(key)} WHEN NOT MATCHED BY SOURCE${inside.join('')} THEN DELETE`;
  if (Buffer.byteLength(sql) <= most) return sql;
  throw new ConnectorError(
    'data',
    `the keys of ${rows.length} records do not fit into one statement, so that no row is removed`,
    { hint: 'raise `max_statement_bytes`, or read less at once' },
  );
}

/** Statements that are all done, or none of them. */
export function asOneUnit(statements: readonly string[], most: number): string {
  const text = ['BEGIN ATOMIC', ...statements.map((one) => `${one};`), 'END'].join('\n');
  if (Buffer.byteLength(text) <= most) return text;
  throw new ConnectorError(
    'data',
    `a page and its watermark are one statement, which has more than ${most} bytes`,
    {
      hint: 'make pages smaller with `batch_size` of the source, or raise `max_statement_bytes`',
    },
  );
}
