import type { SinkContext } from '../../../kit/context.ts';
import type { HeldScope } from '../../../kit/execution.ts';
import type { SchemaChange } from '../../../kit/sink.ts';
import { ConnectorError, RecordError } from '../../../lib/errors.ts';
import { inOneCase } from '../../../lib/sql/sql-name.ts';
import type { Link } from '../../_mssql/connection.ts';
import { numberOf } from '../../_mssql/errors.ts';
import {
  bracketed,
  bracketedList,
  tableSql,
  textLiteral,
  type TableName,
} from '../../_mssql/quote.ts';
import type {
  NewColumn,
  RefusedRow,
  RowSet,
  SqlDriver,
  TableChange,
  TableSweep,
} from '../../_sql/driver.ts';
import type { WriteSession } from '../../_sql/write-session.ts';
import type { MssqlSinkConfig } from '../config.ts';
import { columnLines, MSSQL_TYPES } from './column-types.ts';
import { encoderOf, type Encoder } from './encode.ts';
import { roundingOf } from './rounding.ts';
import { readColumns, tablesFrom, uniqueIndexes, type TableColumn } from './schema.ts';
import { openSession } from './session.ts';
import { deleteSql, encodeRows, insertSql, upsertSql, withRows } from './statements.ts';
import { forgetToken, holdScope, lastToken, makeTokens, storeToken, takeScope } from './tokens.ts';

const NAMES = { ignoresCase: true };
const IS_THERE = 2714;
/** Names of the additional tables are those of the table with an ending, in its schema. */
const DOING_ALWAYS = { always: true };

export interface MssqlDriver extends SqlDriver {
  /** The names of all columns, also of those that cannot be written. */
  namesOf(table: string): Promise<readonly string[] | undefined>;
}

export async function openMssqlDriver(
  config: MssqlSinkConfig,
  place: TableName,
  context: SinkContext,
): Promise<MssqlDriver> {
  const session = openSession(config, context.signal);
  const driver = new Driver(config, place.schema, session);
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
  readonly #config: MssqlSinkConfig;
  readonly #schema: string | undefined;
  readonly #session: WriteSession<Link>;
  #hasTokens = false;

  constructor(config: MssqlSinkConfig, schema: string | undefined, session: WriteSession<Link>) {
    this.#config = config;
    this.#schema = schema;
    this.#session = session;
  }

  asSqlDriver(): MssqlDriver {
    const session = this.#session;
    const { isolate_row_failures: isolates } = this.#config;
    return {
      names: NAMES,
      roundingOf,
      tellsRows: isolates,
      namesOf: (table) =>
        session.run(`reading the columns of \`${table}\``, async (link) =>
          (await readColumns(link, this.#place(table)))?.map(({ name }) => name),
        ),
      columns: (table) =>
        session.run(`reading the columns of \`${table}\``, (link) => this.#columns(link, table)),
      createTable: (table, columns, { key }) =>
        session.run(`making the table \`${table}\``, (link) =>
          this.#create(link, table, { columns, key }),
        ),
      apply: (change) => this.#apply(change),
      sweep: (one) =>
        session.transaction(`removing rows of \`${one.table}\``, async (link) => {
          if (one.held !== undefined) await holdScope(link, one.held);
          return this.#sweep(link, one);
        }),
      lastToken: async (scope, execution) => {
        if (execution !== undefined) {
          await this.#makeTokens();
          await session.transaction('taking over the commit token', (link) =>
            takeScope(link, scope, execution),
          );
        }
        return session.run('reading the commit token', (link) => lastToken(link, scope));
      },
      forgetToken: (scope) =>
        session.run('removing the commit token', (link) => forgetToken(link, scope)),
      evolve: (table, change) =>
        session.transaction(`changing the table \`${table}\``, (link) =>
          this.#evolve(link, table, change),
        ),
      tablesFrom: (prefix) =>
        session.run('looking for tables that other runs left', (link) =>
          tablesFrom(link, this.#schema, prefix),
        ),
      stage: (table, staging) =>
        session.transaction(`staging \`${table}\``, (link) => this.#stage(link, table, staging)),
      fenced: true,
      swap: (table, staging, { held }) =>
        session.transaction(`replacing \`${table}\``, async (link) => {
          if (held !== undefined) await holdScope(link, held);
          await this.#swap(link, table, staging);
        }),
      // Cleaning up continues after a stop.
      drop: (table, held) => this.#drop(table, held),
      close: () => session.close(),
    };
  }

  /** Without a unique index an upsert would read the whole table for each page. */
  async checkKey(table: string): Promise<void> {
    const { key } = this.#config;
    await this.#session.run('reading the keys of the table', async (link) => {
      const place = this.#place(table);
      if ((await readColumns(link, place)) === undefined) return;
      const indexes = await uniqueIndexes(link, place);
      const wanted = new Set(key.map(inOneCase));
      if (indexes.some((columns) => columns.every((name) => wanted.has(inOneCase(name))))) return;
      const create = `CREATE UNIQUE INDEX ${bracketed(`${table}_key`)} ON ${tableSql(place)} (${bracketedList(key)})`;
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
    return this.#schema === undefined ? { table } : { schema: this.#schema, table };
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
    { columns, key }: { readonly columns: readonly NewColumn[]; readonly key: readonly string[] },
  ): Promise<void> {
    const lines = columnLines(columns, key);
    if (key.length > 0) lines.push(`PRIMARY KEY (${bracketedList(key)})`);
    await link
      .ask(`CREATE TABLE ${this.#sql(table)} (${lines.join(', ')})`)
      .catch((error: unknown) => {
        if (numberOf(error) !== IS_THERE) throw error;
      });
  }

  async #makeTokens(): Promise<void> {
    if (this.#hasTokens) return;
    await this.#session.run('making the table of the commit tokens', makeTokens);
    this.#hasTokens = true;
  }

  async #apply(change: TableChange): Promise<readonly RefusedRow[]> {
    if (change.commit !== undefined) await this.#makeTokens();
    const doing = `writing to \`${change.table}\``;
    try {
      await this.#session.transaction(doing, (link) => this.#write(link, change));
      return [];
    } catch (error) {
      if (change.partial !== true || !isAboutData(error)) throw error;
    }
    const { refused, accepted } = await this.#isolate(change);
    await this.#session.transaction(doing, (link) =>
      this.#write(link, { ...change, writes: accepted }),
    );
    return refused;
  }

  /**
   * Which rows the server refuses, one after the other: the first rows that it takes are found by
   * halves, in transactions that are undone.
   */
  async #isolate(
    change: TableChange,
  ): Promise<{ readonly refused: readonly RefusedRow[]; readonly accepted: readonly RowSet[] }> {
    const rows = change.writes.flatMap(({ rows: all }, set) => all.map((_, row) => ({ set, row })));
    const { commit: _kept, ...trial } = change;
    const failureOf = async (places: readonly Place[]): Promise<unknown> => {
      try {
        await this.#session.rehearsal(`writing to \`${change.table}\``, (link) =>
          this.#write(link, { ...trial, writes: chosen(change.writes, places) }),
        );
        return undefined;
      } catch (error) {
        if (!isAboutData(error)) throw error;
        return error;
      }
    };
    const refused: RefusedRow[] = [];
    let good: Place[] = [];
    let open: readonly Place[] = rows;
    for (;;) {
      let failure = open.length === 0 ? undefined : await failureOf([...good, ...open]);
      if (failure === undefined) break;
      // The server takes the first `low` of the open rows, and not the first `high`.
      let [low, high] = [0, open.length];
      while (high - low > 1) {
        const middle = Math.floor((low + high) / 2);
        const here = await failureOf([...good, ...open.slice(0, middle)]);
        if (here === undefined) low = middle;
        else [high, failure] = [middle, here];
      }
      const place = open[low];
      if (place === undefined) throw new Error('cannot happen: no row was refused');
      refused.push({ ...place, error: recordError(failure) });
      good = [...good, ...open.slice(0, low)];
      open = open.slice(low + 1);
    }
    return { refused, accepted: chosen(change.writes, [...good, ...open]) };
  }

  async #write(link: Link, change: TableChange): Promise<void> {
    const { table, writes, deletes, deletesBefore, commit } = change;
    const isNumbered =
      change.mode === 'upsert' && change.key.some((one) => (one as TableColumn).isIdentity);
    if (isNumbered) await link.batch(`SET IDENTITY_INSERT ${this.#sql(table)} ON`);
    if (deletesBefore !== undefined) await this.#delete(link, change, deletesBefore);
    for (const set of writes) await this.#writeSet(link, change, set);
    if (deletes.length > 0) await this.#delete(link, change, deletes);
    if (isNumbered) await link.batch(`SET IDENTITY_INSERT ${this.#sql(table)} OFF`);
    if (commit !== undefined) await storeToken(link, commit);
  }

  async #writeSet(link: Link, change: TableChange, { columns, rows }: RowSet): Promise<void> {
    const { mode, finished } = change;
    const key = mode === 'upsert' ? change.key.map(({ name }) => name) : [];
    const encoders = columns.map((column) =>
      encoderOf(column as TableColumn, { finished, isKey: key.includes(column.name) }),
    );
    const table = this.#sql(change.table);
    await this.#inChunks(link, encoders, rows, (source) =>
      mode === 'upsert'
        ? upsertSql(table, { encoders, key, source })
        : insertSql(table, encoders, source),
    );
  }

  async #delete(
    link: Link,
    { table, key }: TableChange,
    keys: TableChange['deletes'],
  ): Promise<void> {
    const encoders = key.map((column) => encoderOf(column as TableColumn, { isKey: true }));
    const names = key.map(({ name }) => name);
    await this.#inChunks(link, encoders, keys, (source) =>
      deleteSql(this.#sql(table), { encoders, key: names, source }),
    );
  }

  async #inChunks(
    link: Link,
    encoders: readonly Encoder[],
    rows: RowSet['rows'],
    statement: (source: string) => string,
  ): Promise<void> {
    const { batch_size: most } = this.#config;
    const encoded = encodeRows(rows, encoders);
    const size = most === 0 ? encoded.length : most;
    for (let from = 0; from < encoded.length; from += size)
      await withRows(link, encoders, encoded.slice(from, from + size), (source, parameters) =>
        link.ask(statement(source), parameters),
      );
  }

  /** The keys go into a table, and are compared as the rows are. */
  async #sweep(link: Link, { table, scope, key, keys }: TableSweep): Promise<number> {
    const encoders = key.map((column) => encoderOf(column as TableColumn, { isKey: true }));
    const within = scope.map(({ column, value }, at) => {
      const { encode, sql } = encoderOf(column as TableColumn, { isKey: true });
      const name = `scope${at + 1}`;
      const text = encode(value);
      const condition =
        text === null
          ? `t.${bracketed(column.name)} IS NULL`
          : `t.${bracketed(column.name)} = ${sql(`@${name}`)}`;
      const type = Buffer.isBuffer(text) ? ('bytes' as const) : ('text' as const);
      return { condition, parameters: text === null ? [] : [{ name, type, value: text }] };
    });
    await link.batch(
      `DROP TABLE IF EXISTS ${SWEEP_TABLE}; SELECT ${bracketedList(key.map(({ name }) => name))} INTO ${SWEEP_TABLE} FROM ${this.#sql(table)} WHERE 1 = 0`,
    );
    await this.#inChunks(link, encoders, keys, (source) =>
      insertSql(SWEEP_TABLE, encoders, source),
    );
    const same = key.map(({ name }) => `k.${bracketed(name)} = t.${bracketed(name)}`);
    const missing = `NOT EXISTS (SELECT 1 FROM ${SWEEP_TABLE} AS k WHERE ${same.join(' AND ')})`;
    const conditions = [...within.map(({ condition }) => condition), missing];
    const { changed } = await link.ask(
      `DELETE t FROM ${this.#sql(table)} AS t WHERE ${conditions.join(' AND ')}`,
      within.flatMap(({ parameters }) => parameters),
    );
    await link.batch(`DROP TABLE ${SWEEP_TABLE}`);
    return changed;
  }

  async #evolve(link: Link, table: string, change: SchemaChange): Promise<void> {
    const live = new Map(
      (await readColumns(link, this.#place(table)))?.map((one) => [one.name, one]),
    );
    const present = new Set([...live.keys()].map(inOneCase));
    const added = change.add.filter(({ name }) => !present.has(inOneCase(name)));
    const widened = new Map(change.widen.map(({ name, type }) => [name, MSSQL_TYPES[type]]));
    const relaxed = new Set(change.relaxNull);
    const statements = [
      ...columnLines(added, []).map((line) => `ADD ${line}`),
      ...[...new Set([...widened.keys(), ...relaxed])].map((name) => {
        const column = live.get(name);
        // Without a collation the column would get that of the database.
        const kept = `${column?.sqlType ?? ''}${column?.collation === undefined ? '' : ` COLLATE ${column.collation}`}`;
        const isNull = relaxed.has(name) || column?.nullable !== false;
        return `ALTER COLUMN ${bracketed(name)} ${widened.get(name) ?? kept} ${isNull ? 'NULL' : 'NOT NULL'}`;
      }),
    ];
    for (const one of statements) await link.ask(`ALTER TABLE ${this.#sql(table)} ${one}`);
  }

  /** A table of the same columns and defaults, without those that the server fills. */
  async #stage(link: Link, table: string, staging: string): Promise<void> {
    const columns = (await this.#columns(link, table)) ?? [];
    const names = bracketedList(columns.map(({ name }) => name));
    const to = this.#sql(staging);
    await link.ask(`SELECT ${names} INTO ${to} FROM ${this.#sql(table)} WHERE 1 = 0`);
    for (const { name, byDefault } of columns)
      if (byDefault !== undefined)
        await link.ask(`ALTER TABLE ${to} ADD DEFAULT ${byDefault} FOR ${bracketed(name)}`);
  }

  async #drop(table: string, held: HeldScope | undefined): Promise<void> {
    const doing = `dropping \`${table}\``;
    const drop = async (link: Link): Promise<void> =>
      void (await link.ask(`DROP TABLE IF EXISTS ${this.#sql(table)}`));
    if (held === undefined) return this.#session.run(doing, drop, DOING_ALWAYS);
    await this.#session.transaction(doing, async (link) => {
      await holdScope(link, held);
      await drop(link);
    });
  }

  /** The table keeps its indexes, rights and triggers: only its rows are replaced. */
  async #swap(link: Link, table: string, staging: string): Promise<void> {
    const columns = await this.#columns(link, table);
    const [to, from] = [this.#sql(table), this.#sql(staging)];
    if (columns === undefined) {
      await link.ask(`EXEC sp_rename ${textLiteral(from)}, ${textLiteral(table)}`);
      return;
    }
    const names = bracketedList(columns.map(({ name }) => name));
    await link.ask(`DELETE FROM ${to} WITH (TABLOCKX)`);
    await link.ask(`INSERT INTO ${to} (${names}) SELECT ${names} FROM ${from}`);
    await link.ask(`DROP TABLE ${from}`);
  }
}

const SWEEP_TABLE = '#svc_cleanup_keys';

interface Place {
  readonly set: number;
  readonly row: number;
}

/** The rows at these places, in their sets. */
function chosen(writes: readonly RowSet[], places: readonly Place[]): RowSet[] {
  const bySet = Map.groupBy(places, ({ set }) => set);
  return writes.flatMap(({ columns, rows }, set) => {
    const taken = bySet.get(set) ?? [];
    return taken.length === 0 ? [] : [{ columns, rows: taken.map(({ row }) => rows[row] ?? []) }];
  });
}

function isAboutData(error: unknown): boolean {
  return error instanceof ConnectorError && error.kind === 'data';
}

function recordError(error: unknown): RecordError {
  const { message } = error as ConnectorError;
  return new RecordError('Sink', message);
}
