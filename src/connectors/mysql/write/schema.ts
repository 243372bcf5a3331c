/** What the server knows of a table. */
import type { Connection } from 'mysql2';
import { askMysql, type SqlValue } from '../../../lib/sql/mysql.ts';
import { sqlLiteral } from '../read/literals.ts';
import type { ColumnType } from '../../../kit/sink.ts';
import type { LiveColumn } from '../../_sql/driver.ts';

export interface TableColumn extends LiveColumn {
  /** All of its definition but the type and the word for nulls. */
  readonly rest: string;
}

/** The columns that can be written; `undefined` when the table does not exist. */
export async function readColumns(
  connection: Connection,
  table: string,
): Promise<TableColumn[] | undefined> {
  const { rows } = await askMysql(
    connection,
    `SELECT COLUMN_NAME, COLUMN_TYPE, IS_NULLABLE, COLUMN_DEFAULT, EXTRA, GENERATION_EXPRESSION,
       COLLATION_NAME, CHARACTER_SET_NAME, COLUMN_COMMENT
     FROM information_schema.COLUMNS
     WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = ${sqlLiteral(table)} ORDER BY ORDINAL_POSITION`,
  );
  if (rows.length === 0) return undefined;
  const json = await jsonColumns(connection, table);
  return rows.filter((row) => !isText(row[5])).map((row) => columnOf(row, json));
}

function columnOf(row: readonly SqlValue[], json: ReadonlySet<string>): TableColumn {
  const [name, type, nullable, given, extra, , collation, charset, comment] = row.map((value) =>
    value === null ? undefined : String(value),
  ) as [string, string, string, ...(string | undefined)[]];
  const sqlType = json.has(name) ? 'json' : type;
  const isAutomatic = /auto_increment|DEFAULT_GENERATED/i.test(extra ?? '');
  const hasDefault = isAutomatic || (given !== undefined && given !== 'NULL');
  return {
    name,
    sqlType,
    types: typesOf(sqlType),
    nullable: nullable === 'YES',
    ...(hasDefault ? { hasDefault } : {}),
    rest: [
      sqlType === 'json' || collation === undefined
        ? ''
        : `CHARACTER SET ${charset} COLLATE ${collation}`,
      comment === undefined || comment === '' ? '' : `COMMENT ${sqlLiteralText(comment)}`,
    ].join(' '),
  };
}

function isText(value: SqlValue | undefined): boolean {
  return typeof value === 'string' && value !== '';
}

/** A comment takes no literal with a character set before it. */
function sqlLiteralText(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "''")}'`;
}

/** In MariaDB such a column is a text with a check. */
async function jsonColumns(connection: Connection, table: string): Promise<Set<string>> {
  if (!(await isMariadb(connection))) return new Set();
  const { rows } = await askMysql(
    connection,
    `SELECT CHECK_CLAUSE FROM information_schema.CHECK_CONSTRAINTS
     WHERE CONSTRAINT_SCHEMA = DATABASE() AND TABLE_NAME = ${sqlLiteral(table)}`,
  );
  return new Set(
    rows.flatMap(([clause]) => {
      const name = /^json_valid\(`((?:[^`]|``)*)`\)$/i.exec(String(clause))?.[1];
      return name === undefined ? [] : [name.replaceAll('``', '`')];
    }),
  );
}

export async function isMariadb(connection: Connection): Promise<boolean> {
  const { rows } = await askMysql(connection, 'SELECT VERSION()');
  return /mariadb/i.test(String(rows[0]?.[0]));
}

function typesOf(type: string): readonly ColumnType[] {
  if (/^(?:tinyint\(1\)|bit\(1\))/.test(type)) return ['boolean', 'integer'];
  if (/^(?:\w*int\b|year|bit)/.test(type)) return ['integer'];
  if (/^(?:float|double)/.test(type)) return ['number'];
  // Exact decimals are sent as text.
  if (type.startsWith('decimal')) return ['number', 'string'];
  return type === 'json' ? ['object', 'array'] : ['string'];
}

/** The columns of each primary or unique index that covers whole values. */
export async function uniqueIndexes(
  connection: Connection,
  table: string,
): Promise<readonly (readonly string[])[]> {
  const { rows } = await askMysql(
    connection,
    `SELECT INDEX_NAME, COLUMN_NAME, SUB_PART FROM information_schema.STATISTICS
     WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = ${sqlLiteral(table)} AND NON_UNIQUE = 0
     ORDER BY INDEX_NAME, SEQ_IN_INDEX`,
  );
  return [...Map.groupBy(rows, ([index]) => String(index)).values()].map((columns) =>
    // A part of a value is marked, so that it is equal to no column.
    columns.map(([, name, part]) => (part === null ? String(name) : `${String(name)}(${part})`)),
  );
}

/** Tables whose names start with the prefix. */
export async function tablesFrom(connection: Connection, prefix: string): Promise<string[]> {
  const { rows } = await askMysql(
    connection,
    `SELECT TABLE_NAME FROM information_schema.TABLES
     WHERE TABLE_SCHEMA = DATABASE() AND LEFT(TABLE_NAME, ${prefix.length}) = BINARY ${sqlLiteral(prefix)}`,
  );
  return rows.map(([name]) => String(name));
}

/** What a table has that its replacement would not; `undefined` when there is nothing. */
export async function notCloned(
  connection: Connection,
  table: string,
): Promise<string | undefined> {
  const name = sqlLiteral(table);
  const { rows } = await askMysql(
    connection,
    `SELECT CONCAT('the trigger ', TRIGGER_NAME) FROM information_schema.TRIGGERS
       WHERE EVENT_OBJECT_SCHEMA = DATABASE() AND EVENT_OBJECT_TABLE = ${name}
     UNION ALL
     SELECT CONCAT('the foreign key ', CONSTRAINT_NAME) FROM information_schema.REFERENTIAL_CONSTRAINTS
       WHERE CONSTRAINT_SCHEMA = DATABASE() AND ${name} IN (TABLE_NAME, REFERENCED_TABLE_NAME)`,
  );
  return rows[0] === undefined ? undefined : String(rows[0][0]);
}

/** Whether what a statement did to the table can be undone. */
export async function isTransactional(connection: Connection, table: string): Promise<boolean> {
  const { rows } = await askMysql(
    connection,
    `SELECT e.TRANSACTIONS FROM information_schema.TABLES AS t
     JOIN information_schema.ENGINES AS e ON e.ENGINE = t.ENGINE
     WHERE t.TABLE_SCHEMA = DATABASE() AND t.TABLE_NAME = ${sqlLiteral(table)}`,
  );
  return rows[0]?.[0] === 'YES';
}
