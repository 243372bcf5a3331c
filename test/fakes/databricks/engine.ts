/** The database behind the fake: DuckDB, with the catalog and the tables of Databricks. */
import { gunzipSync } from 'node:zlib';
import { DuckDBInstance, type DuckDBConnection, type DuckDBValue } from '@duckdb/node-api';
import { quoted, statementsIn, textOf, translated } from './dialect.ts';
import { cellOf, columnInfo, nameOf, type Column } from './rows.ts';

export interface Answer {
  readonly columns: readonly Column[];
  readonly rows: readonly (readonly (string | null)[])[];
  /** The same as the engine has them, where it has them. */
  readonly values?: readonly (readonly DuckDBValue[])[];
}

/** A statement that fails. */
export class Refusal extends Error {
  readonly code: string;
  readonly state: string;
  constructor(state: string, message: string, code = 'BAD_REQUEST') {
    super(message);
    this.code = code;
    this.state = state;
  }
}

const NOTHING: Answer = { columns: [], rows: [] };

const SETUP = `
  CREATE MACRO fake_json(x) AS x::JSON;
  CREATE MACRO fake_type(x) AS x;
  CREATE VIEW fake_columns AS SELECT database_name AS table_catalog, lower(schema_name) AS table_schema, lower(table_name) AS table_name, column_name,
    data_type AS full_data_type, column_index AS ordinal_position, CASE WHEN is_nullable THEN 'YES' ELSE 'NO' END AS is_nullable,
    nullif(column_default, 'NULL') AS column_default FROM duckdb_columns();
  CREATE VIEW fake_tables AS SELECT database_name AS table_catalog, lower(schema_name) AS table_schema, lower(table_name) AS table_name FROM duckdb_tables()`;

export type ReadObject = (location: string, file: string) => Uint8Array | undefined;

export class Engine {
  /** For tests that look at the tables, in the language of the engine. */
  readonly connection: DuckDBConnection;
  /** Finds objects for COPY INTO. */
  object: ReadObject = () => undefined;
  readonly #instance: DuckDBInstance;
  /** Properties of tables, by their names. */
  readonly #properties = new Map<string, Set<string>>();
  readonly #loaded = new Set<string>();

  private constructor(instance: DuckDBInstance, connection: DuckDBConnection) {
    this.#instance = instance;
    this.connection = connection;
  }

  static async start(catalog: string, schema: string): Promise<Engine> {
    const instance = await DuckDBInstance.create(':memory:');
    const connection = await instance.connect();
    await connection.run(
      `SET TimeZone = 'UTC'; ${SETUP}; ATTACH ':memory:' AS "${catalog}"; CREATE SCHEMA "${catalog}"."${schema}"`,
    );
    return new Engine(instance, connection);
  }

  close(): void {
    this.connection.closeSync();
    this.#instance.closeSync();
  }

  /** One statement in a session of its own. */
  async run(
    sql: string,
    {
      catalog,
      schema,
      parameters,
    }: { catalog: string; schema: string; parameters?: ReadonlyMap<string, string> },
  ): Promise<Answer> {
    const connection = await this.#instance.connect();
    try {
      await connection.run("SET TimeZone = 'UTC'");
      await connection.run(`USE "${catalog}"."${schema}"`).catch(() => {
        const name = `\`${catalog}\`.\`${schema}\``;
        throw new Refusal('42704', `[SCHEMA_NOT_FOUND] The schema ${name} cannot be found.`);
      });
      const session: Session = { connection, catalog, schema };
      if (/^BEGIN ATOMIC\b/.test(sql)) return await this.#atomic(session, sql);
      return await this.#statement(session, sql, parameters);
    } catch (error) {
      throw error instanceof Refusal ? error : refusalOf(error);
    } finally {
      connection.closeSync();
    }
  }

  async #atomic(session: Session, sql: string): Promise<Answer> {
    const { connection } = session;
    const statements = statementsIn(sql.replace(/^BEGIN ATOMIC\s*/, ''));
    if (statements.at(-1) !== 'END') throw new Refusal('42601', '[PARSE_SYNTAX_ERROR] no END');
    await connection.run('BEGIN TRANSACTION');
    try {
      for (const statement of statements.slice(0, -1)) {
        if (statement === 'END IF') continue;
        const [condition, exists = '', message = ''] = CONDITION.exec(statement) ?? [];
        if (condition !== undefined) {
          const found = await connection.runAndReadAll(`SELECT ${translated(exists)}`);
          if (found.getRows()[0]?.[0] !== true) throw new Refusal('45000', textOf(message));
          continue;
        }
        const [, table = ''] = CHANGED.exec(statement) ?? [];
        if (!this.#propertiesOf(session, table).has('delta.feature.catalogManaged'))
          throw new Refusal(
            '0A000',
            `[TRANSACTION_NOT_SUPPORTED] The table ${table} is not catalog managed.`,
          );
        await this.#statement(session, statement);
      }
      await connection.run('COMMIT');
      return NOTHING;
    } catch (error) {
      await connection.run('ROLLBACK').catch(() => {});
      throw error;
    }
  }

  async #statement(
    session: Session,
    sql: string,
    parameters?: ReadonlyMap<string, string>,
  ): Promise<Answer> {
    const { connection } = session;
    if (/^SHOW TBLPROPERTIES\b/.test(sql)) return this.#shown(session, sql);
    if (/^COPY INTO\b/.test(sql)) return this.#copy(session, sql);
    if (/^INSERT OVERWRITE\b/.test(sql)) return this.#overwrite(session, sql);
    if (/^(?:CREATE|ALTER|DROP) TABLE\b/.test(sql)) return this.#define(session, sql);
    const reader = await connection.runAndReadAll(translated(sql, parameters));
    const rows = reader.getRows();
    if (/^MERGE\b/.test(sql)) {
      const name = 'num_affected_rows';
      const count = String(rows[0]?.[0] ?? 0);
      const columns = [name, 'num_updated_rows', 'num_deleted_rows', 'num_inserted_rows'];
      const isDeletion = sql.endsWith('THEN DELETE');
      return {
        columns: columns.map((one) => ({ name: one, type_text: 'BIGINT', type_name: 'LONG' })),
        rows: [[count, '0', isDeletion ? count : '0', '0']],
      };
    }
    const types = reader.columnTypes();
    const isCatalog = /information_schema\.columns/.test(sql);
    return {
      columns: reader.columnNames().map((name, at) => columnInfo(name, types[at])),
      values: rows,
      rows: rows.map((row) =>
        row.map((cell, at) => {
          const text = cellOf(cell, types[at]);
          return isCatalog && at === 1 && text !== null ? nameOf(text).toLowerCase() : text;
        }),
      ),
    };
  }

  async #shown(session: Session, sql: string): Promise<Answer> {
    const [, name = '', key = ''] =
      new RegExp(`^SHOW TBLPROPERTIES (${NAME}) \\('(.+)'\\)$`).exec(sql) ?? [];
    await session.connection.run(`SELECT 1 FROM ${translated(name)} LIMIT 0`);
    const value = this.#propertiesOf(session, name).has(key)
      ? 'supported'
      : `Table ${name} does not have property: ${key}`;
    return {
      columns: ['key', 'value'].map((one) => ({
        name: one,
        type_text: 'STRING',
        type_name: 'STRING',
      })),
      rows: [[key, value]],
    };
  }

  async #define(session: Session, sql: string): Promise<Answer> {
    const { connection } = session;
    const [, name = ''] = DEFINED.exec(sql) ?? [];
    const properties = this.#propertiesOf(session, name);
    for (const [, property = ''] of sql.matchAll(PROPERTY)) properties.add(property);
    const [, like] = / LIKE ((?:`[^`]+`\.?)+)$/.exec(sql) ?? [];
    if (like !== undefined)
      await connection.run(`CREATE TABLE ${translated(name)} AS FROM ${translated(like)} LIMIT 0`);
    else if (sql.startsWith('CREATE')) {
      const body = sql
        .replace(/ TBLPROPERTIES \(.*\)$/s, '')
        .replace(/, PRIMARY KEY \([^)]*\)/, '');
      await connection.run(translated(body));
    } else if (sql.startsWith('DROP')) {
      this.#properties.delete(keyOf(session, name));
      await connection.run(translated(sql));
    } else if (/ RENAME TO /.test(sql)) await this.#rename(session, sql, name);
    else if (!/ SET TBLPROPERTIES /.test(sql)) await this.#alter(session, sql, name);
    return NOTHING;
  }

  async #rename({ connection, ...session }: Session, sql: string, name: string): Promise<void> {
    const [, target = ''] = / RENAME TO (.+)$/.exec(sql) ?? [];
    const bare = (target.match(/`[^`]+`/g) ?? []).at(-1) ?? target;
    await connection.run(`ALTER TABLE ${translated(name)} RENAME TO ${translated(bare)}`);
    const properties = this.#properties.get(keyOf(session, name));
    if (properties !== undefined) this.#properties.set(keyOf(session, target), properties);
  }

  async #alter(session: Session, sql: string, name: string): Promise<void> {
    const { connection } = session;
    const table = translated(name);
    const [, added] = / ADD COLUMNS \((.*)\)$/s.exec(sql) ?? [];
    if (added !== undefined) {
      for (const line of added.split(/, (?=`)/))
        await connection.run(`ALTER TABLE ${table} ADD COLUMN ${translated(line)}`);
      return;
    }
    const [, column = '', type] = / ALTER COLUMN (`[^`]+`) TYPE (.+)$/.exec(sql) ?? [];
    if (type === undefined) {
      await connection.run(translated(sql));
      return;
    }
    if (!this.#propertiesOf(session, name).has('delta.enableTypeWidening'))
      throw new Refusal('0AKDC', `[DELTA_UNSUPPORTED_ALTER_TABLE_CHANGE_COL_OP] ${sql}`);
    const now = await connection
      .runAndReadAll(
        `SELECT data_type FROM (DESCRIBE ${table}) AS d(column_name, data_type) WHERE column_name = ${quoted(column.slice(1, -1))}`,
      )
      .catch(() => undefined);
    const from = nameOf(String(now?.getRows()[0]?.[0] ?? 'BIGINT'));
    if (from === 'BIGINT' && !type.startsWith('DECIMAL'))
      throw new Refusal('0AKDC', `[DELTA_UNSUPPORTED_ALTER_TABLE_CHANGE_COL_OP] BIGINT to ${type}`);
    await connection.run(
      `ALTER TABLE ${table} ALTER COLUMN ${translated(column)} SET DATA TYPE ${translated(type)}`,
    );
  }

  async #overwrite({ connection }: Session, sql: string): Promise<Answer> {
    const insert = sql.replace(/^INSERT OVERWRITE /, 'INSERT INTO ');
    const [, table = ''] = CHANGED.exec(insert) ?? [];
    await connection.run('BEGIN TRANSACTION');
    try {
      await connection.run(`DELETE FROM ${translated(table)}`);
      await connection.run(translated(insert));
      await connection.run('COMMIT');
    } catch (error) {
      await connection.run('ROLLBACK').catch(() => {});
      throw error;
    }
    return NOTHING;
  }

  async #copy({ connection, ...session }: Session, sql: string): Promise<Answer> {
    const [match, table = '', list = '', location = '', file = '', options = ''] =
      COPY.exec(sql) ?? [];
    if (match === undefined) throw new Refusal('42601', `[PARSE_SYNTAX_ERROR] ${sql}`);
    const id = `${keyOf(session, table)} ${textOf(location)} ${textOf(file)}`;
    if (this.#loaded.has(id) && !/'force' = 'true'/.test(options)) return NOTHING;
    const bytes = this.object(textOf(location), textOf(file));
    if (bytes === undefined)
      throw new Refusal('42K03', `[PATH_NOT_FOUND] Path does not exist: ${textOf(file)}`);
    const text = Buffer.from(textOf(file).endsWith('.gz') ? gunzipSync(bytes) : bytes).toString();
    const lines = text.split('\n').filter((line) => line !== '');
    if (lines.length > 0) {
      const names = [...list.matchAll(/ AS (`(?:[^`]|``)+`)(?:, |$)/g)].map(
        ([, name = '']) => name,
      );
      const values = lines.map((line) => `(${quoted(line)})`).join(', ');
      await connection.run(
        `INSERT INTO ${translated(table)} (${translated(names.join(', '))}) SELECT ${translated(list)} FROM (VALUES ${values}) AS f("value")`,
      );
    }
    this.#loaded.add(id);
    return NOTHING;
  }

  #propertiesOf(session: Pick<Session, 'catalog' | 'schema'>, name: string): Set<string> {
    const key = keyOf(session, name);
    const known = this.#properties.get(key) ?? new Set();
    this.#properties.set(key, known);
    return known;
  }
}

interface Session {
  readonly connection: DuckDBConnection;
  readonly catalog: string;
  readonly schema: string;
}

const NAME = '(?:`(?:[^`]|``)+`\\.?)+';
const DEFINED = new RegExp(`^\\w+ TABLE (?:IF (?:NOT )?EXISTS )?(${NAME})`);
const CHANGED = new RegExp(`^(?:INSERT INTO|MERGE INTO|UPDATE|DELETE FROM) (${NAME})`);
const PROPERTY = /'(delta\.[\w.]+)' = /g;
const CONDITION =
  /^IF NOT (EXISTS \(.*\)) THEN SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = ('.*')$/s;
const COPY = new RegExp(
  `^COPY INTO (${NAME}) FROM \\(SELECT (.*) FROM ('[^']+')\\) FILEFORMAT = TEXT FILES = \\(('[^']+')\\)(.*)$`,
  's',
);

function keyOf({ catalog, schema }: Pick<Session, 'catalog' | 'schema'>, name: string): string {
  const parts = (name.match(/`(?:[^`]|``)+`/g) ?? []).map((part) => part.slice(1, -1));
  return [catalog, schema, '']
    .slice(0, 3 - parts.length)
    .concat(parts)
    .join('.')
    .toLowerCase();
}

const ERRORS: readonly (readonly [RegExp, string, string])[] = [
  [/Schema with name|Catalog .* does not exist/i, '42704', '[SCHEMA_NOT_FOUND] '],
  [/does not exist|Catalog Error/i, '42P01', '[TABLE_OR_VIEW_NOT_FOUND] '],
  [/Binder Error/i, '42703', '[UNRESOLVED_COLUMN] '],
  [/Parser Error/i, '42601', '[PARSE_SYNTAX_ERROR] '],
  [/Conflict on|Transaction conflict/i, '2D521', '[DELTA_CONCURRENT_APPEND] '],
  [/NOT NULL constraint/i, '23502', '[DELTA_NOT_NULL_CONSTRAINT_VIOLATED] '],
  [/Conversion Error|Out of Range|Invalid Input/i, '22018', '[CAST_INVALID_INPUT] '],
];

function refusalOf(error: unknown): Refusal {
  const message = error instanceof Error ? error.message : String(error);
  const [, state = 'XX000', name = '[INTERNAL_ERROR] '] =
    ERRORS.find(([pattern]) => pattern.test(message)) ?? [];
  return new Refusal(state, name + message);
}
