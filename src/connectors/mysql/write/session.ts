/** The connection of a sink. */
import type { Connection } from 'mysql2';
import { askMysql, connectMysql, killStatement } from '../../../lib/sql/mysql.ts';
import { isBroken, mysqlError } from '../../../lib/sql/mysql-errors.ts';
import { statementTimeOf } from '../../../lib/sql/statement-limit.ts';
import { WriteSession, type WriteLink } from '../../_sql/write-session.ts';
import type { MysqlSinkConfig } from '../config.ts';

/**
 * Values that a column does not take are errors; zero is a value of automatic columns; years, months
 * and days of zero are what a column of the same kind may hold.
 */
const WRITING = [
  `SET SESSION sql_mode = 'STRICT_ALL_TABLES,NO_AUTO_VALUE_ON_ZERO,NO_ENGINE_SUBSTITUTION', time_zone = '+00:00'`,
  'SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED',
  `SET net_read_timeout = 31536000`,
];

export function openSession(
  config: Pick<MysqlSinkConfig, 'connection_url' | 'statement_timeout_secs'>,
  signal: AbortSignal,
): WriteSession<Link> {
  const { connection_url: url } = config;
  return new WriteSession(
    {
      open: (stop) => Link.open(url, stop),
      error: mysqlError,
      isBroken,
      time: statementTimeOf(config),
    },
    signal,
  );
}

export class Link implements WriteLink {
  readonly connection: Connection;
  readonly #url: string;
  #isOver = false;

  constructor(connection: Connection, url: string) {
    this.connection = connection;
    this.#url = url;
    connection.on('error', () => (this.#isOver = true));
  }

  static async open(url: string, signal: AbortSignal): Promise<Link> {
    return new Link(await connectMysql({ url, session: WRITING, signal, sendsFiles: true }), url);
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  begin(): Promise<void> {
    return this.#do('START TRANSACTION');
  }

  commit(): Promise<void> {
    return this.#do('COMMIT');
  }

  rollback(): Promise<void> {
    return this.#do('ROLLBACK');
  }

  cancel(): Promise<void> {
    return killStatement(this.connection, this.#url);
  }

  close(): void {
    this.connection.destroy();
  }

  async #do(sql: string): Promise<void> {
    await askMysql(this.connection, sql);
  }
}
