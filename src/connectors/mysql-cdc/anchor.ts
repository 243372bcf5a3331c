/** The position from which changes complete what a query reads of the tables. */
import type { Connection } from 'mysql2';
import type { SourceContext } from '../../kit/context.ts';
import type { JsonValue } from '../../lib/text/json.ts';
import { ConnectorError } from '../../lib/errors.ts';
import { codesOf } from '../../lib/sql/mysql-errors.ts';
import { readAgain } from '../_brokers/read-again.ts';
import type { MysqlCdcConfig } from './config.ts';
import { bookmarkOf, FIRST_POS, positionOf, type BinlogPosition } from './read/position.ts';
import { checkHeld, checkServer, currentPosition, type Server } from './server.ts';
import { asked, connectUsual, rowsOf } from './session.ts';

export function takeAnchor(config: MysqlCdcConfig, context: SourceContext): Promise<JsonValue> {
  return usually(config, context, async (usual) => {
    const server = await checkServer(usual, config);
    return bookmarkOf(await visiblePosition(usual, server));
  });
}

export async function checkAnchor(
  config: MysqlCdcConfig,
  context: SourceContext,
  bookmark: JsonValue,
): Promise<void> {
  await usually(config, context, (usual) => checkHeld(usual, positionOf(bookmark), 'bookmark'));
}

function usually<T>(
  config: MysqlCdcConfig,
  context: SourceContext,
  ask: (usual: Connection) => Promise<T>,
): Promise<T> {
  return readAgain(context)(async () => {
    const usual = await connectUsual(config, context);
    try {
      return await asked('the server cannot be asked', ask(usual), context.signal);
    } finally {
      usual.destroy();
    }
  });
}

/**
 * A commit is in the log a moment before other sessions see it, so the end of the log is not the
 * position of what a query sees.
 */
export async function visiblePosition(usual: Connection, server: Server): Promise<BinlogPosition> {
  return (
    (server.isMariadb ? await snapshotPosition(usual) : undefined) ?? lockedPosition(usual, server)
  );
}

/** MariaDB says which position belongs to what a transaction sees. */
async function snapshotPosition(usual: Connection): Promise<BinlogPosition | undefined> {
  await rowsOf(usual, 'START TRANSACTION WITH CONSISTENT SNAPSHOT');
  const rows = await rowsOf(usual, "SHOW STATUS LIKE 'binlog_snapshot_%'");
  await rowsOf(usual, 'ROLLBACK');
  const found = new Map(rows.map(([name, value]) => [String(name).toLowerCase(), String(value)]));
  const file = found.get('binlog_snapshot_file') ?? '';
  const pos = Number(found.get('binlog_snapshot_position'));
  return file !== '' && pos >= FIRST_POS ? { file, pos } : undefined;
}

/** How long transactions that are open may keep the lock from being taken, in seconds. */
const LONGEST_WAIT = 60;
const NO_RIGHT = 1227;

/** Under the lock no commit is between the log and its table. It is held for one statement. */
export async function lockedPosition(usual: Connection, server: Server): Promise<BinlogPosition> {
  await rowsOf(usual, `SET SESSION lock_wait_timeout = ${LONGEST_WAIT}`);
  try {
    await rowsOf(usual, 'FLUSH TABLES WITH READ LOCK');
  } catch (error) {
    if (codesOf(error).number !== NO_RIGHT) throw error;
    throw new ConnectorError(
      'refused',
      'the user may not take the lock under which the position of the log belongs to what queries see',
      { cause: error, hint: 'GRANT RELOAD ON *.* TO the user of the address' },
    );
  }
  try {
    return await currentPosition(usual, server);
  } finally {
    await rowsOf(usual, 'UNLOCK TABLES');
  }
}
