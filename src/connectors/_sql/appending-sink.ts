/** The shared sink for databases to which rows are only added. */
import type { SinkContext } from '../../kit/context.ts';
import type { Sink } from '../../kit/sink.ts';
import type { SqlDriver } from './driver.ts';
import { createSqlSink } from './sink.ts';

interface AppendedTable {
  readonly table: string;
  readonly create_table: boolean;
}

/** `tokens`: whether the driver keeps commit tokens. */
export function createAppendingSink(
  { table, create_table }: AppendedTable,
  driver: SqlDriver,
  { context, tokens: keepsTokens }: { readonly context: SinkContext; readonly tokens: boolean },
): Sink {
  const written = {
    table_name: table,
    create_table,
    column_mapping: { kind: 'auto' },
    write_mode: 'append',
    key: [],
  } as const;
  const { tokens, schema, ...sink } = createSqlSink(written, driver, context);
  const { ignoresCase } = driver.names;
  return {
    ...sink,
    ...(keepsTokens && tokens !== undefined ? { tokens } : {}),
    ...(schema === undefined ? {} : { schema: { current: () => schema.current(), ignoresCase } }),
  };
}

/** The members of a driver that the capabilities of such a sink name none of. */
export const ONLY_APPENDS = {
  evolve: unsupported,
  lastToken: unsupported,
  forgetToken: unsupported,
  tablesFrom: unsupported,
  stage: unsupported,
  swap: unsupported,
  drop: unsupported,
} as const satisfies Partial<SqlDriver>;

function unsupported(): Promise<never> {
  return Promise.reject(new Error('cannot happen: this sink only appends rows'));
}
