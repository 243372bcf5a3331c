import type { SinkContext } from '../../../kit/context.ts';
import type { HeldScope } from '../../../kit/execution.ts';
import type { SchemaChange } from '../../../kit/sink.ts';
import { ConnectorError } from '../../../lib/errors.ts';
import { inOneCase, quoteName, quoteNames } from '../../../lib/sql/sql-name.ts';
import type { JsonValue } from '../../../lib/text/json.ts';
import type { LiveColumn, NewColumn, RowSet, SqlDriver, TableChange } from '../../_sql/driver.ts';
import { WriteSession } from '../../_sql/write-session.ts';
import type { OracleSinkConfig } from '../config.ts';
import { Link } from '../connection.ts';
import { encoderFor, type Encoder } from '../encode.ts';
import { isBroken, isTransient, numberOf, oracleError } from '../errors.ts';
import { storedName, tableSql, type TableName } from '../names.ts';
import { columnLines, inferredType, primaryKey } from './column-types.ts';
import { roundingOf } from './rounding.ts';
import { readColumns, tablesFrom, uniqueIndexes, type TableColumn } from './schema.ts';
import { bindColumns, deleteSql, encodeRows, insertSql, upsertSql } from './statements.ts';
import { forgetToken, holdScope, lastToken, makeTokens, storeToken, takeScope } from './tokens.ts';

const NAMES = { ignoresCase: true };
const IS_THERE = 955;
const NO_SUCH_TABLE = 942;
const DOING_ALWAYS = { always: true };

export async function openOracleDriver(
  config: OracleSinkConfig,
  place: TableName,
  context: SinkContext,
): Promise<SqlDriver> {
  const { statement_timeout_secs: timeoutSecs } = config;
  const session = new WriteSession<Link>(
    {
      open: (signal) => Link.open(config, { signal, timeoutSecs }),
      error: oracleError,
      isBroken,
      isTransient,
    },
    context.signal,
  );
  const driver = new Driver(config, place.owner, session);
  try {
    if (config.write_mode === 'upsert' && context.role !== 'dlq')
      await driver.checkKey(place.table);
    else await session.run('connection failed', async () => {});
    return driver.asSqlDriver();
  } catch (error) {
    await session.close();
    throw error;
  }
}

class Driver {
  readonly #config: OracleSinkConfig;
  readonly #owner: string | undefined;
  readonly #session: WriteSession<Link>;
  #hasTokens = false;

  constructor(config: OracleSinkConfig, owner: string | undefined, session: WriteSession<Link>) {
    this.#config = config;
    this.#owner = owner;
    this.#session = session;
  }

  asSqlDriver(): SqlDriver {
    const session = this.#session;
    return {
      names: NAMES,
      roundingOf,
      columns: (table) =>
        session.run(`reading the columns of \`${table}\``, (link) => this.#columns(link, table)),
      createTable: (table, columns, options) =>
        session.run(`making the table \`${table}\``, (link) =>
          this.#create(link, table, { columns, ...options }),
        ),
      apply: (change) => this.#apply(change),
      lastToken: async (scope, execution) => {
        if (execution !== undefined) {
          await this.#makeTokens();
          await session.transaction('taking over the commit token', (link) =>
            takeScope(link, scope, execution),
          );
        }
        return session.transaction('reading the commit token', (link) => lastToken(link, scope));
      },
      forgetToken: (scope) =>
        session.transaction('removing the commit token', (link) => forgetToken(link, scope)),
      evolve: (table, change) =>
        session.run(`changing the table \`${table}\``, (link) => this.#evolve(link, table, change)),
      tablesFrom: (prefix) =>
        session.run('looking for tables that other runs left', (link) =>
          tablesFrom(link, this.#owner, prefix),
        ),
      stage: (table, staging) =>
        session.run(`staging \`${table}\``, (link) => this.#stage(link, table, staging)),
      swap: (table, staging, { held }) => this.#swap(table, staging, held),
      // Cleaning up continues after a stop.
      drop: async (table, held) => {
        const doing = `dropping \`${table}\``;
        await this.#assertHeld(doing, held);
        await session.run(doing, (link) => this.#drop(link, table), DOING_ALWAYS);
      },
      ...(this.#config.write_mode === 'overwrite' ? { fenced: true } : {}),
      close: () => session.close(),
    };
  }

  /** Without a unique index an upsert would read the whole table for each row. */
  async checkKey(table: string): Promise<void> {
    const { key } = this.#config;
    await this.#session.run('reading the keys of the table', async (link) => {
      const place = this.#place(table);
      if ((await readColumns(link, place)) === undefined) return;
      const indexes = await uniqueIndexes(link, place);
      const wanted = new Set(key.map(inOneCase));
      if (indexes.some((columns) => columns.every((name) => wanted.has(inOneCase(name))))) return;
      const create = `CREATE UNIQUE INDEX ${quoteName(`${table}_KEY`)} ON ${tableSql(place)} (${quoteNames(key.map(storedName))})`;
      const known = indexes.map((columns) => `(${columns.join(', ')})`).join(', ');
      throw new ConnectorError(
        'data',
        `\`${table}\` has no unique index on (${key.join(', ')}), which an upsert needs`,
        {
          hint: known === '' ? create : `it has one on ${known}; use that as \`key\`, or ${create}`,
        },
      );
    });
  }

  #place(table: string): TableName {
    return this.#owner === undefined ? { table } : { owner: this.#owner, table };
  }

  #sql(table: string): string {
    return tableSql(this.#place(table));
  }

  /** The server numbers the rows of an identity column, unless it is the key of this document. */
  async #columns(link: Link, table: string): Promise<readonly TableColumn[] | undefined> {
    const { key } = this.#config;
    const isKey = (name: string): boolean => key.some((one) => inOneCase(one) === inOneCase(name));
    return (await readColumns(link, this.#place(table)))?.filter(
      ({ settable, isIdentity, name }) => settable !== false && (!isIdentity || isKey(name)),
    );
  }

  async #create(
    link: Link,
    table: string,
    {
      columns,
      key,
      records,
    }: {
      readonly columns: readonly NewColumn[];
      readonly key: readonly string[];
      readonly records: readonly JsonValue[];
    },
  ): Promise<void> {
    const lines = columnLines(columns, { key, records, abilities: link });
    if (key.length > 0) lines.push(primaryKey(key));
    await link
      .run(`CREATE TABLE ${this.#sql(table)} (${lines.join(', ')})`)
      .catch((error: unknown) => {
        if (numberOf(error) !== IS_THERE) throw error;
      });
  }

  async #makeTokens(): Promise<void> {
    if (this.#hasTokens) return;
    await this.#session.run('making the table of the commit tokens', makeTokens);
    this.#hasTokens = true;
  }

  async #apply(change: TableChange): Promise<void> {
    if (change.commit !== undefined) await this.#makeTokens();
    await this.#session.transaction(`writing to \`${change.table}\``, (link) =>
      this.#write(link, change),
    );
  }

  async #write(link: Link, change: TableChange): Promise<void> {
    const { writes, deletes, deletesBefore, commit } = change;
    if (deletesBefore !== undefined) await this.#delete(link, change, deletesBefore);
    for (const set of writes) await this.#writeSet(link, change, set);
    if (deletes.length > 0) await this.#delete(link, change, deletes);
    if (commit !== undefined) await storeToken(link, commit);
  }

  async #writeSet(link: Link, change: TableChange, { columns, rows }: RowSet): Promise<void> {
    const { mode, finished } = change;
    const inserts = mode === 'insert';
    const key = inserts ? [] : change.key.map(nameIn);
    const encoders = columns.map((column) =>
      encoderOf(column, { finished, isKey: key.includes(nameIn(column)) }),
    );
    const table = this.#sql(change.table);
    const sql = inserts ? insertSql(table, encoders) : upsertSql(table, encoders, key);
    await this.#inChunks(link, sql, { encoders, rows, inserts });
  }

  async #delete(
    link: Link,
    { table, key }: TableChange,
    rows: TableChange['deletes'],
  ): Promise<void> {
    const encoders = key.map((column) => encoderOf(column, { isKey: true }));
    const sql = deleteSql(this.#sql(table), encoders);
    await this.#inChunks(link, sql, { encoders, rows, inserts: false });
  }

  async #inChunks(
    link: Link,
    sql: string,
    {
      encoders,
      rows,
      inserts,
    }: {
      readonly encoders: readonly Encoder[];
      readonly rows: RowSet['rows'];
      readonly inserts: boolean;
    },
  ): Promise<void> {
    const { batch_size: most } = this.#config;
    const encoded = encodeRows(rows, encoders);
    const size = most === 0 ? encoded.length : most;
    for (let from = 0; from < encoded.length; from += size) {
      const chunk = encoded.slice(from, from + size);
      await link.runMany(sql, bindColumns(encoders, chunk, { inserts }), chunk);
    }
  }

  /** Each statement is committed by itself, as all that change a table are. */
  async #evolve(link: Link, table: string, change: SchemaChange): Promise<void> {
    const live = (await readColumns(link, this.#place(table))) ?? [];
    const present = new Set(live.map(({ name }) => inOneCase(name)));
    const added = change.add.filter(({ name }) => !present.has(inOneCase(name)));
    const nameOf = (name: string): string =>
      quoteName(live.find((one) => one.name === name)?.stored ?? storedName(name));
    const creating = { key: [], records: [], abilities: link };
    const statements = [
      ...columnLines(added, creating).map((line) => `ADD (${line})`),
      ...change.widen.map(
        ({ name, type }) => `MODIFY (${nameOf(name)} ${widerType(inferredType(type, link))})`,
      ),
      ...change.relaxNull
        .filter((name) => live.some((one) => one.name === name && !one.nullable))
        .map((name) => `MODIFY (${nameOf(name)} NULL)`),
    ];
    for (const one of statements) await link.run(`ALTER TABLE ${this.#sql(table)} ${one}`);
  }

  /** A table of the same columns, without those that the server fills. */
  async #stage(link: Link, table: string, staging: string): Promise<void> {
    const columns = (await this.#columns(link, table)) ?? [];
    const lines = columns.map(({ stored, sqlType }) => `${quoteName(stored)} ${sqlType}`);
    await link.run(`CREATE TABLE ${this.#sql(staging)} (${lines.join(', ')})`);
  }

  /** The table keeps its indexes, rights and triggers: only its rows are replaced. */
  async #swap(table: string, staging: string, held: HeldScope | undefined): Promise<void> {
    const doing = `replacing \`${table}\``;
    const columns = await this.#session.run(doing, (link) => this.#columns(link, table));
    const [to, from] = [this.#sql(table), this.#sql(staging)];
    if (columns === undefined) {
      // What renames a table commits by itself. Whoever takes the scope behind this drops the table.
      await this.#assertHeld(doing, held);
      await this.#session.run(doing, (link) =>
        link.run(`ALTER TABLE ${from} RENAME TO ${quoteName(table)}`),
      );
      return;
    }
    const names = quoteNames(columns.map(nameIn));
    await this.#session.transaction(doing, async (link) => {
      if (held !== undefined) await holdScope(link, held);
      await link.run(`LOCK TABLE ${to} IN EXCLUSIVE MODE`);
      await link.run(`DELETE FROM ${to}`);
      await link.run(`INSERT INTO ${to} (${names}) SELECT ${names} FROM ${from}`);
    });
    await this.#session.run(doing, (link) => this.#drop(link, staging), DOING_ALWAYS);
  }

  async #assertHeld(doing: string, held: HeldScope | undefined): Promise<void> {
    if (held !== undefined) await this.#session.transaction(doing, (link) => holdScope(link, held));
  }

  async #drop(link: Link, table: string): Promise<void> {
    await link.run(`DROP TABLE ${this.#sql(table)} PURGE`).catch((error: unknown) => {
      if (numberOf(error) !== NO_SUCH_TABLE) throw error;
    });
  }
}

/** Columns of numbers that hold rows become no others than those without limits. */
function widerType(type: string): string {
  return type === 'BINARY_DOUBLE' ? 'NUMBER' : type;
}

function nameIn(column: LiveColumn): string {
  return (column as TableColumn).stored;
}

function encoderOf(
  column: LiveColumn,
  how: { readonly isKey?: boolean; readonly finished?: boolean },
): Encoder {
  return encoderFor({ name: nameIn(column), type: column.sqlType }, how);
}
