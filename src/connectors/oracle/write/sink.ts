import type { SinkContext } from '../../../kit/context.ts';
import type { Sink } from '../../../kit/sink.ts';
import { createSqlSink } from '../../_sql/sink.ts';
import type { OracleSinkConfig } from '../config.ts';
import { parseTable } from '../names.ts';
import { openOracleDriver } from './driver.ts';

export async function openOracleSink(
  config: OracleSinkConfig,
  context: SinkContext,
): Promise<Sink> {
  const place = parseTable(config.table_name);
  const driver = await openOracleDriver(config, place, context);
  return createSqlSink({ ...config, table_name: place.table }, driver, context);
}
