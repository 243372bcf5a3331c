import type { SinkContext, SourceContext } from '../../kit/context.ts';
import type { ProbeFinding } from '../../kit/probe.ts';
import { AppError, messageOf } from '../../lib/errors.ts';
import { jsonText } from '../../lib/text/json.ts';
import type { ClickhouseSinkConfig, ClickhouseSourceConfig } from './config.ts';
import { ClickhouseError, UNKNOWN_DATABASE, UNKNOWN_TABLE } from './errors.ts';
import { Link } from './link.ts';
import { describeResult } from './read/source.ts';
import { backticked, tableName } from './types/quote.ts';

/** Whether the server takes the login, and the query can be read. */
export function probeSource(
  config: ClickhouseSourceConfig,
  context: SourceContext,
): Promise<ProbeFinding[]> {
  return probed(config, context, async () => {
    await describeResult(config, context);
  });
}

/** Whether the server takes the login, and rows may be added to the table; adds none. */
export function probeSink(
  config: ClickhouseSinkConfig,
  context: SinkContext,
): Promise<ProbeFinding[]> {
  return probed(config, context, async (link) => {
    const { table, create_table: isMade } = config;
    try {
      const { rows } = await link.rows(`DESCRIBE TABLE ${tableName(table)}`);
      const [first] = rows[0] ?? [];
      const column = backticked(jsonText(first ?? ''));
      await link.run({
        text: `INSERT INTO ${tableName(table)} (${column}) SELECT ${column} FROM ${tableName(table)} WHERE 0`,
      });
    } catch (error) {
      const isThere = !(error instanceof ClickhouseError) || error.number !== UNKNOWN_TABLE;
      if (isThere || !isMade) throw error;
    }
  });
}

type Config = ClickhouseSourceConfig | ClickhouseSinkConfig;

async function probed(
  config: Config,
  context: SourceContext | SinkContext,
  look: (link: Link) => Promise<void>,
): Promise<ProbeFinding[]> {
  const link = await Link.open(config, context);
  try {
    await link.rows('SELECT 1');
    const isQuery = 'query' in config;
    return [
      { name: 'connect', status: 'pass' },
      await tried(isQuery ? 'query' : 'schema', () => look(link)),
    ];
  } catch (error) {
    return [failed('connect', error)];
  } finally {
    await link.close();
  }
}

async function tried(name: string, work: () => Promise<void>): Promise<ProbeFinding> {
  try {
    await work();
    return { name, status: 'pass' };
  } catch (error) {
    return failed(name, error);
  }
}

function failed(name: string, error: unknown): ProbeFinding {
  const own = error instanceof AppError ? error.hint : undefined;
  const hint =
    error instanceof ClickhouseError && error.number === UNKNOWN_DATABASE
      ? 'check `database`, or make it'
      : (own ?? (name === 'connect' ? 'check `url`, `user` and `password`' : 'look at the table'));
  return { name, status: 'fail', reason: messageOf(error), hint };
}
