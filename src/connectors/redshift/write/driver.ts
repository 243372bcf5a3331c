/** What the shared sink of SQL databases needs of this one. */
import type { ClientBase, Pool } from 'pg';
import type { SinkContext } from '../../../kit/context.ts';
import { requireOpen } from '../../../kit/sink.ts';
import { closedInTime } from '../../../lib/closed-in-time.ts';
import { ConnectorError } from '../../../lib/errors.ts';
import { inPostgresTransaction, openPostgresPool, withClient } from '../../../lib/sql/postgres.ts';
import { quoteName } from '../../../lib/sql/sql-name.ts';
import { statementTimeOf } from '../../../lib/sql/statement-limit.ts';
import { columnRounding } from '../../_postgres/narrow-columns.ts';
import { ONLY_APPENDS } from '../../_sql/appending-sink.ts';
import {
  CollectedRows,
  collectsRows,
  inBatches,
  type EncodedRows,
} from '../../_sql/collected-rows.ts';
import type { LiveColumn, NewColumn, SqlDriver, TableChange } from '../../_sql/driver.ts';
import { connectionUrl } from '../address.ts';
import type { RedshiftSinkConfig } from '../config.ts';
import { columnLine, NAMES, readColumns } from './columns.ts';
import { openStagingBucket, StagedCopies } from './copy.ts';
import { insertRows } from './insert.ts';
import { encodedRows, type TextRow } from './texts.ts';

export async function openRedshiftDriver(
  config: RedshiftSinkConfig,
  context: SinkContext,
): Promise<SqlDriver> {
  const pool = await openPostgresPool({
    url: connectionUrl(config),
    max: config.max_connections,
    time: statementTimeOf(config),
  });
  try {
    const { signal } = context;
    const schema = await withClient(pool, { doing: 'connecting', signal }, (client) =>
      schemaOf(client, config),
    );
    const copies =
      config.write_strategy === 'copy'
        ? new StagedCopies(config, context, await openStagingBucket(config, context))
        : undefined;
    return new RedshiftDriver(config, context, { pool, schema, copies });
  } catch (error) {
    await closedInTime(() => pool.end());
    throw error;
  }
}

/** The configured schema, or the first one of the search path. */
export async function schemaOf(
  client: ClientBase,
  { schema }: Pick<RedshiftSinkConfig, 'schema'>,
): Promise<string> {
  if (schema !== undefined) return schema;
  const { rows } = await client.query<{ name: string | null }>('SELECT current_schema() AS name');
  const name = rows[0]?.name ?? undefined;
  if (name !== undefined) return name;
  throw new ConnectorError('missing', 'no schema of the search path exists', {
    hint: 'name one with `schema`',
  });
}

interface Parts {
  readonly pool: Pool;
  readonly schema: string;
  readonly copies: StagedCopies | undefined;
}

class RedshiftDriver implements SqlDriver {
  readonly names = NAMES;
  readonly roundingOf = columnRounding;
  /** Present where a flush has something to do. */
  readonly settle?: () => Promise<void>;
  readonly #config: RedshiftSinkConfig;
  readonly #signal: AbortSignal;
  readonly #parts: Parts;
  readonly #rows: CollectedRows<TextRow>;
  #isClosed = false;

  constructor(config: RedshiftSinkConfig, { signal }: SinkContext, parts: Parts) {
    this.#config = config;
    this.#signal = signal;
    this.#parts = parts;
    this.#rows = new CollectedRows(config, (loads) => this.#load(loads));
    if (collectsRows(config)) this.settle = () => this.#rows.commit();
  }

  columns(table: string): Promise<readonly LiveColumn[] | undefined> {
    return this.#do(`reading the columns of \`${table}\``, (client) =>
      readColumns(client, this.#parts.schema, table),
    );
  }

  async createTable(table: string, columns: readonly NewColumn[]): Promise<void> {
    const lines = columns.map(columnLine);
    await this.#do(`making the table \`${table}\``, (client) =>
      client.query(`CREATE TABLE IF NOT EXISTS ${this.#qualified(table)} (${lines.join(', ')})`),
    );
  }

  async apply({ writes, schema, hold }: TableChange): Promise<void> {
    requireOpen(this.#isClosed);
    await this.#rows.add(
      writes.map((set) => encodedRows(set, schema)),
      hold,
    );
  }

  /** All in one transaction. */
  async #load(parts: readonly EncodedRows<TextRow>[]): Promise<void> {
    const { table_name: name, batch_size: most } = this.#config;
    const table = this.#qualified(name);
    const { copies } = this.#parts;
    await this.#do(`writing to \`${name}\``, (client) =>
      inPostgresTransaction(client, async () => {
        for (const { columns, rows } of parts)
          for (const some of inBatches(rows, most)) {
            const batch = { columns, rows: some, bytes: 0 };
            await (copies === undefined
              ? insertRows(client, table, batch)
              : copies.load(client, table, batch));
          }
      }),
    );
  }

  #do<T>(doing: string, work: (client: ClientBase) => Promise<T>): Promise<T> {
    return withClient(this.#parts.pool, { doing, signal: this.#signal }, work);
  }

  #qualified(table: string): string {
    return `${quoteName(this.#parts.schema)}.${quoteName(table)}`;
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#parts.copies?.close();
    await closedInTime(() => this.#parts.pool.end());
  }

  readonly evolve = ONLY_APPENDS.evolve;
  readonly lastToken = ONLY_APPENDS.lastToken;
  readonly forgetToken = ONLY_APPENDS.forgetToken;
  readonly tablesFrom = ONLY_APPENDS.tablesFrom;
  readonly stage = ONLY_APPENDS.stage;
  readonly swap = ONLY_APPENDS.swap;
  readonly drop = ONLY_APPENDS.drop;
}
