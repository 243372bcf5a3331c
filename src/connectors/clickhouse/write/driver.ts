/** What the shared sink of SQL databases needs of this one, which only appends. */
import type { SinkContext } from '../../../kit/context.ts';
import { requireOpen } from '../../../kit/sink.ts';
import { ConnectorError } from '../../../lib/errors.ts';
import type { JsonValue } from '../../../lib/text/json.ts';
import { ONLY_APPENDS } from '../../_sql/appending-sink.ts';
import type { LiveColumn, RowSet, SqlDriver, TableChange } from '../../_sql/driver.ts';
import { withRefusedRow } from '../../_sql/refused-row.ts';
import type { ClickhouseSinkConfig } from '../config.ts';
import { ClickhouseError, UNKNOWN_TABLE } from '../errors.ts';
import { Link, type ServerFacts } from '../link.ts';
import { tableName } from '../types/quote.ts';
import { columnLine, liveColumns } from './columns.ts';
import { encoderOf } from './encode.ts';
import { InsertLoader } from './insert.ts';
import { FILLS_DEFAULTS, INSERT_SETTINGS, type Loader, type Rows } from './loading.ts';
import { roundingOf } from './rounding.ts';

const DEFAULT_COMMIT_BYTES = 64 * 1024 * 1024;

export async function openClickhouseDriver(
  config: ClickhouseSinkConfig,
  context: SinkContext,
): Promise<SqlDriver> {
  return new ClickhouseDriver(config, context, await Link.open(config, context));
}

class ClickhouseDriver implements SqlDriver {
  readonly names = { ignoresCase: false };
  readonly roundingOf = roundingOf;
  /** Present where a flush has something to do. */
  readonly settle?: () => Promise<void>;
  readonly #collects: boolean;
  readonly #config: ClickhouseSinkConfig;
  readonly #context: SinkContext;
  readonly #link: Link;
  readonly #encoders = new Map<string, (value: JsonValue) => string>();
  #facts: Promise<ServerFacts> | undefined;
  #loader: Promise<Loader> | undefined;
  #collected: readonly Rows[] = [];
  #failure: { readonly error: unknown } | undefined;
  #isClosed = false;

  constructor(config: ClickhouseSinkConfig, context: SinkContext, link: Link) {
    this.#config = config;
    this.#context = context;
    this.#link = link;
    this.#collects = (config.commit_rows ?? config.commit_bytes) !== undefined;
    const isUnheard = config.async_insert && !config.wait_for_async_insert;
    if (this.#collects || isUnheard)
      this.settle = async () => {
        await this.#commit();
        if (isUnheard) await this.#flushQueue();
      };
  }

  async columns(table: string): Promise<readonly LiveColumn[] | undefined> {
    try {
      return liveColumns(await this.#link.rows(`DESCRIBE TABLE ${tableName(table)}`));
    } catch (error) {
      if (error instanceof ClickhouseError && error.number === UNKNOWN_TABLE) return undefined;
      throw error;
    }
  }

  async createTable(
    table: string,
    columns: Parameters<SqlDriver['createTable']>[1],
  ): Promise<void> {
    const facts = await this.#serverFacts();
    const lines = columns.map((column) => columnLine(column, facts));
    await this.#link.run({
      text: `CREATE TABLE IF NOT EXISTS ${tableName(table)} (${lines.join(', ')}) ENGINE = MergeTree() ORDER BY tuple()`,
    });
  }

  async apply({ writes, hold }: TableChange): Promise<void> {
    requireOpen(this.#isClosed);
    if (this.#failure !== undefined) throw this.#failure.error;
    const parts = this.#encoded(writes);
    if (!this.#collects || hold === undefined) return this.#loadAll(parts);
    const { commit_rows: most = Infinity, commit_bytes: bytes = DEFAULT_COMMIT_BYTES } =
      this.#config;
    this.#collected = await this.#joined([...this.#collected, ...parts]);
    const size = (of: (rows: Rows) => number): number =>
      this.#collected.reduce((sum, rows) => sum + of(rows), 0);
    if (size(({ lines }) => lines.length) >= most || size((rows) => rows.bytes) >= bytes)
      await this.#commit();
  }

  async #commit(): Promise<void> {
    if (this.#failure !== undefined) throw this.#failure.error;
    const parts = this.#collected;
    this.#collected = [];
    try {
      for (const rows of parts) await this.#load(rows, Infinity);
    } catch (error) {
      this.#failure = { error };
      throw error;
    }
  }

  /** What waits in the server is stored now. What it cannot store is only in its log. */
  async #flushQueue(): Promise<void> {
    try {
      await this.#link.run({ text: 'SYSTEM FLUSH ASYNC INSERT QUEUE' });
    } catch (error) {
      if (!(error instanceof ClickhouseError)) throw error;
      throw new ConnectorError(
        error.kind,
        `what the server has collected cannot be stored before the position is: ${error.message}`,
        {
          hint: 'grant SYSTEM FLUSH ASYNC INSERT QUEUE to the user, or leave `wait_for_async_insert` on',
          cause: error,
        },
      );
    }
  }

  async #loadAll(parts: readonly Rows[]): Promise<void> {
    for (const rows of await this.#joined(parts)) await this.#load(rows);
  }

  /**
   * Rows that fill other columns are one INSERT too where the server fills in the defaults of columns
   * that a row lacks. Old servers fill in zeros.
   */
  async #joined(parts: readonly Rows[]): Promise<readonly Rows[]> {
    if (parts.length < 2) return parts;
    const facts = await this.#serverFacts();
    const all: Rows[] = [];
    for (const rows of parts) {
      const last = all.at(-1);
      const fits =
        facts.takes(FILLS_DEFAULTS) || (last !== undefined && haveSameColumns(last, rows));
      if (last === undefined || !fits) all.push(rows);
      else all[all.length - 1] = joined(last, rows);
    }
    return all;
  }

  /** In parts of `batch_size`; what was collected goes at once. */
  async #load(rows: Rows, most = this.#config.batch_size): Promise<void> {
    this.#loader ??= this.#openLoader();
    const loader = await this.#loader;
    const { columns, lines } = rows;
    const step = most === 0 ? lines.length : most;
    for (let from = 0; from < lines.length; from += step) {
      const some = from === 0 && step >= lines.length ? lines : lines.slice(from, from + step);
      const bytes = some.reduce((sum, line) => sum + line.length, 0);
      await loader.load({ columns, lines: some, bytes }).catch((error: unknown) => {
        throw error instanceof ClickhouseError && error.row !== undefined && most !== Infinity
          ? withRefusedRow(error, from + error.row)
          : error;
      });
    }
  }

  async #openLoader(): Promise<Loader> {
    const facts = await this.#serverFacts();
    const loading = { config: this.#config, context: this.#context, link: this.#link, facts };
    const { staging } = this.#config;
    if (staging === undefined) return new InsertLoader(loading);
    return (await import('./staging.ts')).openStagedLoader(loading, staging);
  }

  #encoded(writes: readonly RowSet[]): Rows[] {
    return writes.map(({ columns, rows }) => {
      const fields = columns.map((column) => this.#fieldOf(column));
      const lines = rows.map((row, index) => {
        try {
          return `{${fields.map((field, at) => field(row[at] ?? null)).join(',')}}`;
        } catch (error) {
          throw withRefusedRow(error, index);
        }
      });
      return { columns, lines, bytes: lines.reduce((sum, line) => sum + line.length, 0) };
    });
  }

  #fieldOf({ name, sqlType }: LiveColumn): (value: JsonValue) => string {
    const id = `${name} ${sqlType}`;
    const known = this.#encoders.get(id);
    if (known !== undefined) return known;
    const [start, encode] = [`${JSON.stringify(name)}:`, encoderOf(name, sqlType)];
    const field = (value: JsonValue): string => start + encode(value);
    this.#encoders.set(id, field);
    return field;
  }

  #serverFacts(): Promise<ServerFacts> {
    return (this.#facts ??= this.#link.facts(INSERT_SETTINGS));
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#link.close();
  }

  readonly evolve = ONLY_APPENDS.evolve;
  readonly lastToken = ONLY_APPENDS.lastToken;
  readonly forgetToken = ONLY_APPENDS.forgetToken;
  readonly tablesFrom = ONLY_APPENDS.tablesFrom;
  readonly stage = ONLY_APPENDS.stage;
  readonly swap = ONLY_APPENDS.swap;
  readonly drop = ONLY_APPENDS.drop;
}

function haveSameColumns({ columns }: Rows, other: Rows): boolean {
  return (
    columns.length === other.columns.length &&
    columns.every(({ name }, at) => name === other.columns[at]?.name)
  );
}

function joined(one: Rows, other: Rows): Rows {
  const names = new Set(one.columns.map(({ name }) => name));
  const more = other.columns.filter(({ name }) => !names.has(name));
  return {
    columns: more.length === 0 ? one.columns : [...one.columns, ...more],
    lines: [...one.lines, ...other.lines],
    bytes: one.bytes + other.bytes,
  };
}
