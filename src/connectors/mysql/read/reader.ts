/** The connection of a source: its statements end with the signal, and closing it leaves none running. */
import type { Connection, PrepareStatementInfo } from 'mysql2';
import { connectMysql, killStatement } from '../../../lib/sql/mysql.ts';
import { mysqlError } from '../../../lib/sql/mysql-errors.ts';
import { untilAborted } from '../../../lib/sql/until-aborted.ts';
import { refuseEqualNames } from '../../_sql/equal-names.ts';
import type { BigNumbers } from '../../_sql/value-decoders.ts';
import { withinSecs } from '../../_sql/within-secs.ts';
import { columnOf, type ColumnInfo, type MysqlColumn } from '../../_mysql/result-types.ts';
import { refuseNoRows } from './query.ts';
import { startFrames, startRows, type RowStore, type RunningResult } from './result.ts';

/** A slow sink may leave the connection alone for long; statements of a source only read. */
export const READING = [
  'SET SESSION TRANSACTION READ ONLY',
  "SET time_zone = '+00:00', net_write_timeout = 31536000",
];

export interface Reader {
  /** The columns of a query, which is not run. */
  columnsOf(sql: string): Promise<readonly MysqlColumn[]>;
  /** Rows in frames; a chunk is valid until the next one is asked for. */
  rowsOf(sql: string, columns: readonly MysqlColumn[]): AsyncGenerator<Buffer, void>;
  /** Rows as a store makes them (`startRows`). */
  takenBy<T>(
    store: RowStore<T>,
    sql: string,
    columns: readonly MysqlColumn[],
  ): AsyncGenerator<T, void>;
  close(): Promise<void>;
}

export interface ReaderOptions {
  readonly url: string;
  readonly signal: AbortSignal;
  /** The longest wait for the next rows; 0 waits forever. */
  readonly timeoutSecs: number;
  readonly bigNumbers: BigNumbers;
}

export async function openReader(options: ReaderOptions): Promise<Reader> {
  const { url, signal, timeoutSecs, bigNumbers } = options;
  const connection = await connectMysql({ url, session: READING, signal });
  let running: RunningResult<unknown> | undefined;
  const ask = async <T>(work: Promise<T>): Promise<T> => {
    try {
      return await untilAborted(work, { signal, cancel: () => killStatement(connection, url) });
    } catch (error) {
      throw signal.aborted ? error : mysqlError(error, 'the query failed');
    }
  };
  async function* all<T>(start: () => RunningResult<T>): AsyncGenerator<T, void> {
    const result = start();
    running = result;
    for (;;) {
      signal.throwIfAborted();
      const rows = await ask(withinSecs(result.next(), timeoutSecs, () => result.heardAt));
      if (rows === undefined) return;
      yield rows;
    }
  }
  return {
    columnsOf: (sql) =>
      ask(describe(connection, sql)).then((infos) => {
        refuseNoRows(infos.length);
        refuseEqualNames(infos.map(({ name }) => name));
        return infos.map((info) => columnOf(info, bigNumbers));
      }),
    rowsOf: (sql, columns) => all(() => startFrames(connection, sql, columns)),
    takenBy: (store, sql, columns) => all(() => startRows(connection, { sql, columns, store })),
    async close() {
      if (running !== undefined && !running.isOver && !signal.aborted)
        await killStatement(connection, url);
      running = undefined;
      connection.destroy();
    },
  };
}

function describe(connection: Connection, sql: string): Promise<readonly ColumnInfo[]> {
  return new Promise((resolve, reject) => {
    connection.prepare(sql, (error, statement) => {
      if (error !== null) {
        reject(error);
        return;
      }
      resolve((statement as PrepareStatementInfo & { columns: ColumnInfo[] }).columns);
    });
  });
}
