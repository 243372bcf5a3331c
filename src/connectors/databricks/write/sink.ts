import type { SinkContext } from '../../../kit/context.ts';
import type { Sink, TokenWriter } from '../../../kit/sink.ts';
import { createSqlSink } from '../../_sql/sink.ts';
import type { DatabricksSinkConfig } from '../config.ts';
import { tablePlace } from '../names.ts';
import { openDatabricksDriver } from './driver.ts';

export async function openDatabricksSink(
  config: DatabricksSinkConfig,
  context: SinkContext,
): Promise<Sink> {
  const driver = await openDatabricksDriver(config, context);
  const { table: table_name } = tablePlace(config);
  const { tokens, ...sink } = createSqlSink(
    { ...config, table_name, column_mapping: { kind: 'auto' } },
    driver,
    context,
  );
  if (tokens === undefined) return sink;
  // A table that is made for pages with a token is one that transactions take.
  const using = (): TokenWriter => {
    driver.useTokens();
    return tokens;
  };
  return {
    ...sink,
    tokens: {
      last: (scope) => using().last(scope),
      hold: (page) => using().hold(page),
      write: (page, scope, token) => using().write(page, scope, token),
      forget: (scope) => tokens.forget(scope),
    },
  };
}
