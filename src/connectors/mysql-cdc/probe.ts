/** Whether a run could read the changes; nothing is made and nothing is read. */
import type { Connection } from 'mysql2';
import type { SourceContext } from '../../kit/context.ts';
import type { ProbeFinding } from '../../kit/probe.ts';
import { AppError, messageOf } from '../../lib/errors.ts';
import { mysqlError } from '../../lib/sql/mysql-errors.ts';
import { untilAborted } from '../../lib/until-aborted.ts';
import type { MysqlCdcConfig } from './config.ts';
import { DumpStream, DUMPING } from './read/dump-stream.ts';
import { checkHeld, checkServer, currentPosition } from './server.ts';
import { asked, connect, connectUsual } from './session.ts';
import { missingTables } from './tables-of-server.ts';

export async function probeMysqlCdc(
  config: MysqlCdcConfig,
  context: SourceContext,
): Promise<ProbeFinding[]> {
  let usual: Connection;
  try {
    usual = await connectUsual(config, context);
  } catch (error) {
    return [failed('connection', error)];
  }
  const found = async (name: string, look: Promise<ProbeFinding>): Promise<ProbeFinding> => {
    try {
      return await asked('the server cannot be asked', look, context.signal);
    } catch (error) {
      context.signal.throwIfAborted();
      return failed(name, error);
    }
  };
  try {
    const settings = await found('binlog-config', settingsFinding(usual, config));
    const findings: ProbeFinding[] = [{ name: 'connection', status: 'pass' }, settings];
    if (settings.status === 'pass')
      findings.push(await found('replication', logFinding(usual, config, context)));
    if (config.include_tables.length > 0)
      findings.push(await found('tables', tablesFinding(usual, config)));
    return findings;
  } finally {
    usual.destroy();
  }
}

async function settingsFinding(usual: Connection, config: MysqlCdcConfig): Promise<ProbeFinding> {
  await checkServer(usual, config);
  return { name: 'binlog-config', status: 'pass' };
}

/** Asks for what stands behind the end of the log, without the number of the reader: none is ended. */
async function logFinding(
  usual: Connection,
  config: MysqlCdcConfig,
  context: SourceContext,
): Promise<ProbeFinding> {
  const { start_position: start } = config;
  const from = await currentPosition(usual, await checkServer(usual, config));
  if (start.type === 'file_pos') await checkHeld(usual, start, 'start_position');
  const connection = await connect(config, context, DUMPING);
  const stream = new DumpStream({
    connection,
    serverId: 0,
    from,
    bound: 65_536,
    endsWithLog: true,
  });
  try {
    for (;;) {
      await untilAborted(stream.arrival(), context.signal);
      while (stream.take() !== undefined);
    }
  } catch (error) {
    if (!stream.hasEnded) throw error;
    return { name: 'replication', status: 'pass' };
  } finally {
    stream.close();
  }
}

async function tablesFinding(
  usual: Connection,
  { include_tables: wanted }: MysqlCdcConfig,
): Promise<ProbeFinding> {
  const name = 'tables';
  const missing = await missingTables(usual, wanted);
  if (missing.length > 0)
    return {
      name,
      status: 'fail',
      reason: `this user sees no table \`${missing.join('`, `')}\``,
      hint: 'check the names in `include_tables`, and GRANT SELECT on the tables',
    };
  return { name, status: 'pass' };
}

function failed(name: string, error: unknown): ProbeFinding {
  const known = error instanceof AppError ? error : mysqlError(error, 'the server cannot be asked');
  const hint = known.hint ?? 'check host, port, user and password of `connection_url`';
  return { name, status: 'fail', reason: messageOf(known), hint };
}
