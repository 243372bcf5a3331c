import type { SinkContext } from '../../../kit/context.ts';
import type { Sink } from '../../../kit/sink.ts';
import { createSqlSink } from '../../_sql/sink.ts';
import type { ClickhouseSinkConfig } from '../config.ts';
import { openClickhouseDriver } from './driver.ts';

export async function openClickhouseSink(
  config: ClickhouseSinkConfig,
  context: SinkContext,
): Promise<Sink> {
  const driver = await openClickhouseDriver(config, context);
  const written = {
    table_name: config.table,
    create_table: config.create_table,
    column_mapping: { kind: 'auto' },
    write_mode: 'append',
    key: [],
  } as const;
  const { tokens: _none, schema, ...sink } = createSqlSink(written, driver, context);
  if (schema === undefined) return sink;
  return { ...sink, schema: { current: () => schema.current(), ignoresCase: false } };
}
