import type { SinkContext } from '../../../kit/context.ts';
import type { Sink } from '../../../kit/sink.ts';
import { createAppendingSink } from '../../_sql/appending-sink.ts';
import type { SnowflakeSinkConfig } from '../config.ts';
import { openSnowflakeDriver } from './driver.ts';

export async function openSnowflakeSink(
  config: SnowflakeSinkConfig,
  context: SinkContext,
): Promise<Sink> {
  const driver = await openSnowflakeDriver(config, context);
  return createAppendingSink(config, driver, { context, tokens: true });
}
