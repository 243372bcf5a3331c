/** What the server has to be set to, and which parts of its log it still has. */
import type { Connection } from 'mysql2';
import { ConnectorError } from '../../lib/errors.ts';
import { codesOf } from '../../lib/sql/mysql-errors.ts';
import type { MysqlCdcConfig } from './config.ts';
import { FIRST_POS, formatPosition, type BinlogPosition } from './read/position.ts';
import { rowsOf, type Rows } from './session.ts';

export interface Server {
  readonly isMariadb: boolean;
}

const SETTINGS = [
  'version',
  'server_id',
  'log_bin',
  'binlog_format',
  'binlog_row_image',
  'binlog_row_metadata',
  'binlog_row_value_options',
  'binlog_transaction_compression',
] as const;

type Setting = (typeof SETTINGS)[number];
type Settings = ReadonlyMap<string, string>;

/** Throws when the log of the server cannot be read, or would not hold whole changes. */
export async function checkServer(
  connection: Connection,
  { server_id: ownId }: MysqlCdcConfig,
): Promise<Server> {
  const names = SETTINGS.map((name) => `'${name}'`).join(', ');
  const rows = await rowsOf(connection, `SHOW GLOBAL VARIABLES WHERE Variable_name IN (${names})`);
  const settings: Settings = new Map(rows.map(([name, value]) => [String(name), String(value)]));
  const valueOf = (name: Setting): string => settings.get(name) ?? '';
  if (valueOf('log_bin') !== 'ON')
    throw refused('the server writes no binary log', 'start it with `log_bin` and `server_id`');
  for (const [name, wanted] of WANTED)
    if (valueOf(name).toUpperCase() !== wanted) throw notSet(name, wanted, settings.get(name));
  const compressed = valueOf('binlog_transaction_compression');
  if (compressed === 'ON')
    throw refused(
      'the server compresses transactions in its log, which cannot be read',
      'SET GLOBAL binlog_transaction_compression = OFF',
    );
  if (valueOf('server_id') === String(ownId))
    throw refused(
      `the server itself has the \`server_id\` ${ownId}`,
      'give this reader a number that no server and no other reader has',
    );
  return { isMariadb: /mariadb/i.test(valueOf('version')) };
}

const WANTED: readonly (readonly [name: Setting, wanted: string])[] = [
  ['binlog_format', 'ROW'],
  ['binlog_row_image', 'FULL'],
  ['binlog_row_metadata', 'FULL'],
  ['binlog_row_value_options', ''],
];

function notSet(name: Setting, wanted: string, value: string | undefined): ConnectorError {
  if (value === undefined && name === 'binlog_row_metadata')
    return refused(
      'the server is too old: its log does not name the columns of rows',
      'use MySQL 8.0 or newer, or MariaDB 10.5 or newer',
    );
  const shown = wanted === '' ? "''" : wanted;
  return refused(
    `the server has \`${name} = ${value ?? 'unknown'}\`, not ${wanted === '' ? 'the empty text' : `\`${wanted}\``}`,
    `SET GLOBAL ${name} = ${shown}, also in its options file; sessions that are open keep the old value`,
  );
}

function refused(message: string, hint: string): ConnectorError {
  return new ConnectorError('refused', message, { hint });
}

const NO_RIGHT = 1227;

/** The right to know of the log has several names. */
async function askLog(connection: Connection, sql: string): Promise<Rows> {
  try {
    return await rowsOf(connection, sql);
  } catch (error) {
    if (codesOf(error).number !== NO_RIGHT) throw error;
    throw new ConnectorError('refused', 'the user may not ask where the log of the server ends', {
      cause: error,
      hint: 'GRANT REPLICATION CLIENT ON *.* TO the user of the address (MariaDB: BINLOG MONITOR)',
    });
  }
}

const NOT_UNDERSTOOD = 1064;

/** The end of the log. */
export async function currentPosition(
  connection: Connection,
  { isMariadb }: Server,
): Promise<BinlogPosition> {
  const old = (): Promise<Rows> => askLog(connection, 'SHOW MASTER STATUS');
  const rows = isMariadb
    ? await old()
    : await askLog(connection, 'SHOW BINARY LOG STATUS').catch((error: unknown) => {
        if (codesOf(error).number === NOT_UNDERSTOOD) return old();
        throw error;
      });
  const [file, pos] = rows[0] ?? [];
  if (typeof file === 'string' && Number(pos) >= FIRST_POS) return { file, pos: Number(pos) };
  throw new ConnectorError('data', 'the server does not say where its log ends');
}

interface LogFile {
  readonly name: string;
  readonly size: number;
}

async function logFiles(connection: Connection): Promise<LogFile[]> {
  const rows = await askLog(connection, 'SHOW BINARY LOGS');
  return rows.map(([name, size]) => ({ name: String(name), size: Number(size) }));
}

export async function earliestPosition(connection: Connection): Promise<BinlogPosition> {
  const [first] = await logFiles(connection);
  if (first !== undefined) return { file: first.name, pos: FIRST_POS };
  throw new ConnectorError('data', 'the server lists no files of its log');
}

/** Throws when changes behind the position can no longer be read. */
export async function checkHeld(
  connection: Connection,
  position: BinlogPosition,
  given: PositionFrom,
): Promise<void> {
  const files = await logFiles(connection);
  const file = files.find(({ name }) => name === position.file);
  if (file === undefined) throw purged(position, given, files[0]?.name);
  if (position.pos > file.size)
    throw new ConnectorError(
      'missing',
      `the log file \`${file.name}\` ends at ${file.size}, before ${position.pos}, ${GIVEN[given].what}: it is another log`,
      { hint: GIVEN[given].hint },
    );
}

/** Who says that it is read from a position. */
export type PositionFrom = 'bookmark' | 'start_position';

const GIVEN = {
  bookmark: {
    what: 'where the last run stopped',
    hint: 'remove the bookmark, and load the tables anew; `headgate replicate --restart` does both',
  },
  start_position: {
    what: 'where `start_position` begins',
    hint: 'choose another `start_position`, and load the tables anew',
  },
} as const;

export function purged(
  position: BinlogPosition,
  given: PositionFrom,
  first: string | undefined,
): ConnectorError {
  const since = first === undefined ? '' : `; its log begins with \`${first}\``;
  return new ConnectorError(
    'missing',
    `the server has removed the log file \`${position.file}\`, and with it changes since ${formatPosition(position)}, ${GIVEN[given].what}${since}`,
    {
      hint: `${GIVEN[given].hint}; \`binlog_expire_logs_seconds\` says how long the server keeps the log`,
    },
  );
}
