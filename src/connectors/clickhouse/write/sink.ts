import type { SinkContext } from '../../../kit/context.ts';
import type { Sink } from '../../../kit/sink.ts';
import { createAppendingSink } from '../../_sql/appending-sink.ts';
import type { ClickhouseSinkConfig } from '../config.ts';
import { openClickhouseDriver } from './driver.ts';

export async function openClickhouseSink(
  config: ClickhouseSinkConfig,
  context: SinkContext,
): Promise<Sink> {
  const driver = await openClickhouseDriver(config, context);
  return createAppendingSink(config, driver, { context, tokens: false });
}
