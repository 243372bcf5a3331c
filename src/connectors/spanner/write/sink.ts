import type { SinkContext } from '../../../kit/context.ts';
import type { Sink } from '../../../kit/sink.ts';
import { createSqlSink } from '../../_sql/sink.ts';
import type { SpannerSinkConfig } from '../config.ts';
import { openSpannerDriver } from './driver.ts';

export async function openSpannerSink(
  written: SpannerSinkConfig,
  context: SinkContext,
): Promise<Sink> {
  const config = context.role === 'dlq' ? asAppending(written) : written;
  const driver = await openSpannerDriver(config, context);
  return createSqlSink({ ...config, column_mapping: { kind: 'auto' } }, driver, context);
}

/** Dead letters are added, whatever the config says of records: several may have one key. */
function asAppending({ delete_marker: _marker, ...config }: SpannerSinkConfig): SpannerSinkConfig {
  return { ...config, write_mode: 'append', key: [] };
}
