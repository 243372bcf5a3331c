/** What the shared sink of SQL databases needs of this one. */
import type { SinkContext } from '../../../kit/context.ts';
import type { Execution } from '../../../kit/execution.ts';
import { requireOpen, type SchemaChange } from '../../../kit/sink.ts';
import type { Log } from '../../../lib/log.ts';
import { ALL_TRANSIENT, requestRetry, type RequestRetry } from '../../_http/retry.ts';
import { inBatches, type EncodedRows } from '../../_sql/collected-rows.ts';
import {
  TOKEN_TABLE,
  type CommitToken,
  type LiveColumn,
  type NewColumn,
  type SqlDriver,
  type TableChange,
  type TableSweep,
} from '../../_sql/driver.ts';
import type { TextRow } from '../../_sql/text-rows.ts';
import type { DatabricksSinkConfig } from '../config.ts';
import { backticked, literal, tablePlace, tableSql, type TablePlace } from '../names.ts';
import { isMissing } from '../session/errors.ts';
import { Link, type LinkContext } from '../session/link.ts';
import {
  catalogViews,
  columnLine,
  NAMES,
  needsNameMapping,
  readColumns,
  roundingOf,
  widerType,
} from './columns.ts';
import { openPlace, StagedLoads } from './loads.ts';
import { asOneUnit, statementsFor, sweepSql, type Step } from './statements.ts';
import { encodedRows } from './texts.ts';
import { CATALOG_COMMITS, Tokens } from './tokens.ts';

const MAX_RETRIES = 5;
const BACKOFF_MS = 1000;

const RETRY: RequestRetry = {
  maxRetries: MAX_RETRIES,
  backoff: 'exponential',
  baseMs: BACKOFF_MS,
  maxMs: 60_000,
  jitter: true,
  on: ALL_TRANSIENT,
};

/** Where the config says nothing else, `resilience.retry` of the document does. */
export function openSinkLink(config: DatabricksSinkConfig, context: LinkContext): Promise<Link> {
  const { max_retries: maxRetries, retry_backoff_ms: baseMs, poll_interval_ms: pollMs } = config;
  return Link.open(config, context, {
    pollMs,
    retry: requestRetry(context.retry, RETRY, {
      ...(maxRetries === MAX_RETRIES ? {} : { maxRetries }),
      ...(baseMs === BACKOFF_MS ? {} : { baseMs }),
    }),
  });
}

export async function openDatabricksDriver(
  config: DatabricksSinkConfig,
  context: SinkContext,
): Promise<DatabricksDriver> {
  const link = await openSinkLink(config, context);
  try {
    // A login that is refused is told now, and not with the first page.
    await link.rows('SELECT 1');
    const { staging } = config;
    const parts = staging === undefined ? undefined : { staging, context, link };
    const loads = parts === undefined ? undefined : new StagedLoads(parts, await openPlace(parts));
    return new DatabricksDriver(config, { link, loads, log: context.env.log });
  } catch (error) {
    await link.close();
    throw error;
  }
}

interface Parts {
  readonly link: Link;
  readonly loads: StagedLoads | undefined;
  readonly log: Log;
}

export class DatabricksDriver implements SqlDriver {
  readonly names = NAMES;
  readonly roundingOf = roundingOf;
  readonly #config: DatabricksSinkConfig;
  readonly #link: Link;
  readonly #loads: StagedLoads | undefined;
  readonly #place: TablePlace;
  readonly #tokens: Tokens;
  readonly #log: Log;
  #usesTokens = false;
  #isAllowed = false;
  #isClosed = false;

  constructor(config: DatabricksSinkConfig, { link, loads, log }: Parts) {
    this.#config = config;
    this.#log = log.at('headgate::sink::databricks');
    this.#link = link;
    this.#loads = loads;
    this.#place = tablePlace(config);
    this.#tokens = new Tokens(link, this.#sql(TOKEN_TABLE), config.max_statement_bytes);
  }

  columns(table: string): Promise<readonly LiveColumn[] | undefined> {
    return readColumns(this.#link, this.#at(table));
  }

  async createTable(
    table: string,
    columns: readonly NewColumn[],
    { key }: { readonly key: readonly string[] },
  ): Promise<void> {
    const isKey = new Set(key);
    const lines = columns.map((column) =>
      isKey.has(column.name) ? `${columnLine(column)} NOT NULL` : columnLine(column),
    );
    if (key.length > 0) lines.push(`PRIMARY KEY (${key.map(backticked).join(', ')})`);
    const properties = [
      ...(this.#usesTokens ? [CATALOG_COMMITS.sql] : []),
      ...(needsNameMapping(columns) ? ["'delta.columnMapping.mode' = 'name'"] : []),
    ];
    const given = properties.length === 0 ? '' : ` TBLPROPERTIES (${properties.join(', ')})`;
    await this.#run(`CREATE TABLE IF NOT EXISTS ${this.#sql(table)} (${lines.join(', ')})${given}`);
  }

  /** Pages are committed with tokens from now on. */
  useTokens(): void {
    this.#usesTokens = true;
  }

  async apply(change: TableChange): Promise<void> {
    requireOpen(this.#isClosed);
    const { key, schema, commit } = change;
    const steps: Step[] = [];
    const removals = (rows: TableChange['deletes']): void => {
      const set = encodedRows({ columns: key, rows }, schema);
      steps.push({ kind: 'delete', columns: key, key, rows: set.rows });
    };
    if (change.deletesBefore !== undefined) removals(change.deletesBefore);
    for (const set of change.writes) {
      const part = encodedRows(set, schema);
      if (commit === undefined && change.mode === 'insert' && this.#isLoaded(part))
        await this.#load(change.table, part);
      else steps.push({ ...part, kind: change.mode, key });
    }
    if (change.deletes.length > 0) removals(change.deletes);
    if (commit === undefined) await this.#each(change.table, steps);
    else await this.#together(change.table, steps, commit);
  }

  #isLoaded({ bytes }: EncodedRows<TextRow>): boolean {
    const { load_method: method, copy_threshold_bytes: from } = this.#config;
    if (this.#loads === undefined || method === 'insert') return false;
    return method === 'copy_into' || bytes >= from;
  }

  async #load(table: string, part: EncodedRows<TextRow>): Promise<void> {
    for (const rows of inBatches(part.rows, this.#config.batch_size))
      await this.#loads?.load(this.#sql(table), { ...part, rows });
  }

  async #each(table: string, steps: readonly Step[]): Promise<void> {
    const { batch_size: rows, max_statement_bytes: bytes } = this.#config;
    for (const step of steps)
      for (const text of statementsFor(this.#sql(table), step, { rows, bytes }))
        await this.#link.run({ text, isRepeatable: step.kind !== 'insert' });
  }

  async #together(table: string, steps: readonly Step[], commit: CommitToken): Promise<void> {
    const { max_statement_bytes: bytes } = this.#config;
    await this.#allowTransactions(table);
    const { before, after } = await this.#tokens.around(commit);
    const statements = steps.flatMap((step) =>
      statementsFor(this.#sql(table), step, { rows: 0, bytes }),
    );
    const text = asOneUnit([...before, ...statements, ...after], bytes);
    try {
      await this.#link.run({ text, isRepeatable: false });
    } catch (error) {
      throw this.#tokens.told(error, commit);
    }
    this.#tokens.committed(commit);
  }

  /** Of a table that was made without tokens, or by somebody else. */
  async #allowTransactions(table: string): Promise<void> {
    if (this.#isAllowed) return;
    this.#isAllowed = true;
    const name = this.#sql(table);
    const rows = await this.#link
      .rows(`SHOW TBLPROPERTIES ${name} ('${CATALOG_COMMITS.name}')`)
      .catch((error: unknown) => {
        if (isMissing(error)) return undefined;
        throw error;
      });
    if (rows === undefined || rows[0]?.[1] === CATALOG_COMMITS.value) return;
    this.#log.info('the table gets catalog commits, which exactly-once delivery needs', { table });
    await this.#run(`ALTER TABLE ${name} SET TBLPROPERTIES (${CATALOG_COMMITS.sql})`);
  }

  async sweep({ table, scope, key, keys }: TableSweep): Promise<number> {
    const textsOf = (columns: readonly LiveColumn[], rows: TableSweep['keys']) =>
      encodedRows({ columns, rows }, undefined).rows;
    const inside = scope.map(({ column, value }) => ({
      column,
      text: textsOf([column], [[value]])[0]?.[0] ?? null,
    }));
    const parts = { key, rows: textsOf(key, keys), scope: inside };
    const text = sweepSql(this.#sql(table), parts, this.#config.max_statement_bytes);
    const result = await this.#link.run({ text, isRepeatable: false });
    const at = result.columns.findIndex(({ name }) => name === 'num_deleted_rows');
    for await (const rows of result.chunks()) return Number(rows[0]?.[at] ?? 0);
    return 0;
  }

  lastToken(scope: string, execution?: Execution): Promise<string | undefined> {
    return this.#tokens.last(scope, execution);
  }

  forgetToken(scope: string): Promise<void> {
    return this.#tokens.forget(scope);
  }

  async evolve(table: string, change: SchemaChange): Promise<void> {
    const name = this.#sql(table);
    const live = (await this.columns(table)) ?? [];
    const columnOf = (field: string): LiveColumn | undefined =>
      live.find((one) => one.name.toLowerCase() === field.toLowerCase());
    const adds = change.add.filter((column) => columnOf(column.name) === undefined);
    if (adds.length > 0)
      await this.#run(`ALTER TABLE ${name} ADD COLUMNS (${adds.map(columnLine).join(', ')})`);
    const wider = change.widen.flatMap(({ name: field, type }) => {
      const column = columnOf(field);
      const to = column === undefined ? undefined : widerType(column, type);
      return column === undefined || to === undefined ? [] : [[column.name, to] as const];
    });
    if (wider.length > 0)
      await this.#run(
        `ALTER TABLE ${name} SET TBLPROPERTIES ('delta.enableTypeWidening' = 'true')`,
      );
    for (const [column, type] of wider)
      await this.#run(`ALTER TABLE ${name} ALTER COLUMN ${backticked(column)} TYPE ${type}`);
    for (const field of change.relaxNull) {
      const column = columnOf(field);
      if (column?.nullable !== false) continue;
      await this.#run(`ALTER TABLE ${name} ALTER COLUMN ${backticked(column.name)} DROP NOT NULL`);
    }
  }

  async tablesFrom(prefix: string): Promise<readonly string[]> {
    const { of, inSchema } = catalogViews(this.#place);
    const rows = await this.#link.rows(
      `SELECT table_name FROM ${of('tables')} WHERE ${inSchema} AND startswith(table_name, ${literal(prefix.toLowerCase())})`,
    );
    return rows.map(([name]) => name ?? '');
  }

  async stage(table: string, staging: string): Promise<void> {
    await this.#run(`CREATE TABLE ${this.#sql(staging)} LIKE ${this.#sql(table)}`, false);
  }

  async swap(table: string, staging: string): Promise<void> {
    const live = await this.columns(table);
    if (live === undefined) {
      const text = `ALTER TABLE ${this.#sql(staging)} RENAME TO ${this.#sql(table)}`;
      await this.#run(text, false);
      return;
    }
    const staged = new Set((await this.columns(staging))?.map(({ name }) => name));
    const list = live
      .filter(({ name }) => staged.has(name))
      .map(({ name }) => backticked(name))
      .join(', ');
    await this.#run(
      `INSERT OVERWRITE ${this.#sql(table)} (${list}) SELECT ${list} FROM ${this.#sql(staging)}`,
    );
    await this.drop(staging);
  }

  async drop(table: string): Promise<void> {
    await this.#run(`DROP TABLE IF EXISTS ${this.#sql(table)}`);
  }

  async #run(text: string, isRepeatable = true): Promise<void> {
    await this.#link.run({ text, isRepeatable });
  }

  /** Tables that belong to the one of the config lie beside it. */
  #at(table: string): TablePlace {
    return { ...this.#place, table };
  }

  #sql(table: string): string {
    return tableSql(this.#at(table));
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#loads?.close();
    await this.#link.close();
  }
}
