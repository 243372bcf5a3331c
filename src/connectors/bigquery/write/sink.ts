import type { SinkContext } from '../../../kit/context.ts';
import type { Sink } from '../../../kit/sink.ts';
import { createSqlSink } from '../../_sql/sink.ts';
import { loadsAtEnd, type BigquerySinkConfig } from '../config.ts';
import { openBigqueryDriver } from './driver.ts';

export async function openBigquerySink(
  written: BigquerySinkConfig,
  context: SinkContext,
): Promise<Sink> {
  const config = context.role === 'dlq' ? asAppending(written) : written;
  const driver = await openBigqueryDriver(config, context);
  const { table_id, ...rest } = config;
  const sink = createSqlSink(
    { ...rest, table_name: table_id, column_mapping: { kind: 'auto' } },
    driver,
    context,
  );
  if (config.bulk_load === undefined) return sink;
  // A load is no part of a transaction with a token.
  const { tokens: _none, ...loading } = sink;
  if (!loadsAtEnd(config)) return loading;
  let isDiscarded = false;
  return {
    ...loading,
    discarded: () => isDiscarded,
    async finish(reason) {
      isDiscarded = reason !== 'success';
      if (reason === 'success') await driver.load();
      else await driver.discard();
      await sink.finish(reason);
    },
  };
}

/** Dead letters are added, whatever the config says of records. */
function asAppending(config: BigquerySinkConfig): BigquerySinkConfig {
  const { delete_marker: _marker, scope: _scope, bulk_load: bulk, ...rest } = config;
  return {
    ...rest,
    write_mode: 'append',
    key: [],
    ...(bulk === undefined ? {} : { bulk_load: { ...bulk, write_disposition: 'WRITE_APPEND' } }),
  };
}
