import type { SinkContext } from '../../../kit/context.ts';
import type { Sink } from '../../../kit/sink.ts';
import { createAppendingSink } from '../../_sql/appending-sink.ts';
import type { RedshiftSinkConfig } from '../config.ts';
import { openRedshiftDriver } from './driver.ts';

export async function openRedshiftSink(
  config: RedshiftSinkConfig,
  context: SinkContext,
): Promise<Sink> {
  const driver = await openRedshiftDriver(config, context);
  const { table_name: table, create_table } = config;
  return createAppendingSink({ table, create_table }, driver, { context, tokens: false });
}
