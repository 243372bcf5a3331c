/** What the shared sink of SQL databases needs of this one. */
import type { SinkContext } from '../../../kit/context.ts';
import type { Execution } from '../../../kit/execution.ts';
import { requireOpen } from '../../../kit/sink.ts';
import { ONLY_APPENDS } from '../../_sql/appending-sink.ts';
import {
  CollectedRows,
  collectsRows,
  inBatches,
  type EncodedRows,
} from '../../_sql/collected-rows.ts';
import {
  TOKEN_TABLE,
  type CommitToken,
  type LiveColumn,
  type NewColumn,
  type SqlDriver,
  type TableChange,
} from '../../_sql/driver.ts';
import type { SnowflakeSinkConfig } from '../config.ts';
import { identifier } from '../../_sql/folded-names.ts';
import { Session } from '../session/session.ts';
import { StagedLoads } from './bulk-load.ts';
import { columnLine, NAMES, readColumns, roundingOf } from './columns.ts';
import { openStageStore } from '../../_objects/load-place.ts';
import { asOneRequest, insertStatements } from './statements.ts';
import { encodedRows, type TextRow } from './texts.ts';
import { Tokens } from './tokens.ts';

export async function openSnowflakeDriver(
  config: SnowflakeSinkConfig,
  context: SinkContext,
): Promise<SqlDriver> {
  const session = await Session.open(config, context);
  try {
    // A login that is refused is told now, and not with the first page.
    await session.rows('SELECT 1');
    const loads =
      config.bulk_load === undefined
        ? undefined
        : new StagedLoads(
            config.bulk_load,
            context,
            await openStageStore(config.bulk_load, context),
          );
    return new SnowflakeDriver(config, session, loads);
  } catch (error) {
    await session.close();
    throw error;
  }
}

class SnowflakeDriver implements SqlDriver {
  readonly names = NAMES;
  readonly roundingOf = roundingOf;
  /** Present where a flush has something to do. */
  readonly settle?: () => Promise<void>;
  readonly #config: SnowflakeSinkConfig;
  readonly #session: Session;
  readonly #loads: StagedLoads | undefined;
  readonly #tokens: Tokens;
  readonly #rows: CollectedRows<TextRow>;
  #isClosed = false;

  constructor(config: SnowflakeSinkConfig, session: Session, loads: StagedLoads | undefined) {
    this.#config = config;
    this.#session = session;
    this.#loads = loads;
    this.#tokens = new Tokens(session, this.#qualified(TOKEN_TABLE));
    this.#rows = new CollectedRows(config, (parts) => this.#write(parts, undefined));
    if (collectsRows(config)) this.settle = () => this.#rows.commit();
  }

  columns(table: string): Promise<readonly LiveColumn[] | undefined> {
    const { database, schema } = this.#config;
    return readColumns(this.#session, { database, schema, table });
  }

  async createTable(table: string, columns: readonly NewColumn[]): Promise<void> {
    const lines = columns.map(columnLine);
    await this.#session.run({
      text: `CREATE TABLE IF NOT EXISTS ${this.#qualified(table)} (${lines.join(', ')})`,
    });
  }

  async apply({ writes, schema, hold, commit }: TableChange): Promise<void> {
    requireOpen(this.#isClosed);
    const parts = writes.map((set) => encodedRows(set, schema));
    if (hold === 'token') {
      this.#forToken.push(...parts);
      return;
    }
    if (commit === undefined) return this.#rows.add(parts, hold);
    const all = [...this.#forToken, ...parts];
    await this.#write(all, commit);
    this.#forToken = [];
  }

  /** Pages that are committed together with a token. */
  #forToken: EncodedRows<TextRow>[] = [];

  /** All in one request, which is one transaction. */
  async #write(
    parts: readonly EncodedRows<TextRow>[],
    commit: CommitToken | undefined,
  ): Promise<void> {
    const statements: string[] = [];
    for (const part of parts) statements.push(...(await this.#statementsFor(part)));
    if (commit === undefined) {
      if (statements.length > 0) await this.#session.run(asOneRequest(statements));
      return;
    }
    const { before, after, stored } = await this.#tokens.around(commit);
    try {
      await this.#session.run(asOneRequest([...before, ...statements, ...after]));
      stored();
    } catch (error) {
      throw await this.#tokens.reason(commit, error);
    }
  }

  async #statementsFor(part: EncodedRows<TextRow>): Promise<string[]> {
    const { table: name, batch_size: most } = this.#config;
    const table = this.#qualified(name);
    const loads = this.#loads;
    if (loads === undefined) return insertStatements(table, part, most);
    const statements: string[] = [];
    for (const rows of inBatches(part.rows, most))
      statements.push(await loads.statementFor(table, { ...part, rows }));
    return statements;
  }

  lastToken(scope: string, execution?: Execution): Promise<string | undefined> {
    return this.#tokens.last(scope, execution);
  }

  forgetToken(scope: string): Promise<void> {
    return this.#tokens.forget(scope);
  }

  #qualified(table: string): string {
    const { database, schema } = this.#config;
    return [database, schema, table].map(identifier).join('.');
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#loads?.close();
    await this.#session.close();
  }

  readonly evolve = ONLY_APPENDS.evolve;
  readonly tablesFrom = ONLY_APPENDS.tablesFrom;
  readonly stage = ONLY_APPENDS.stage;
  readonly swap = ONLY_APPENDS.swap;
  readonly drop = ONLY_APPENDS.drop;
}
