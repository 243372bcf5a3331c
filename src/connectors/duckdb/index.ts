import { accessSync, constants, existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { ConnectorError, messageOf } from '../../lib/errors.ts';
import type { ProbeFinding } from '../../kit/probe.ts';
import { defineSink } from '../../kit/sink.ts';
import { defineSource } from '../../kit/source.ts';
import { createSqlSink } from '../_sql/sink.ts';
import { readTable, sqlSinkCapabilities } from '../_sql/sink-fields.ts';
import { inOneCase } from '../../lib/sql/sql-name.ts';
import {
  duckdbSinkConfig,
  duckdbSourceConfig,
  MEMORY,
  openToRead,
  pathOf,
  type DuckdbSinkConfig,
  type DuckdbSourceConfig,
} from './config.ts';

export const duckdbSource = defineSource<DuckdbSourceConfig>({
  type: 'duckdb',
  description: 'Rows of a query on a DuckDB database file.',
  config: duckdbSourceConfig,
  boundKeys: ['query'],
  examples: [
    { database: 'data/shop.duckdb', query: 'SELECT id, name FROM customers', read_only: true },
    {
      database: ':memory:',
      query: "SELECT * FROM read_parquet('lake/*.parquet') WHERE amount > 100",
    },
  ],
  capabilities: () => ({ replay: 'none', bookmarks: false, encodings: [] }),
  datasetUri: (config) => `duckdb://${config.database}?query=${config.query}`,
  open: async (config, context) => (await import('./source.ts')).openDuckdbSource(config, context),
  discover: async (config, context) =>
    (await import('./source.ts')).discoverTables(config, context),
});

export const duckdbSink = defineSink<DuckdbSinkConfig>({
  type: 'duckdb',
  description: 'Rows of a table in a DuckDB database file.',
  config: duckdbSinkConfig,
  examples: [
    { database: 'data/shop.duckdb', table_name: 'events' },
    {
      database: 'data/shop.duckdb',
      table_name: 'customers',
      column_mapping: 'auto_map',
      write_mode: 'upsert',
      key: ['id'],
    },
  ],
  capabilities: (config) => ({
    ...sqlSinkCapabilities(config),
    fenced: true,
    rollback: 'keeps no rollback log in DuckDB',
  }),
  datasetUri: (config) => `duckdb://${config.database}?table=${config.table_name}`,
  place: (config) => `duckdb://${config.database}?table=${inOneCase(config.table_name)}`,
  readBack: (config) =>
    config.database === MEMORY
      ? undefined
      : { type: 'duckdb', ...readTable(config, { database: config.database }) },
  temporary: (config, folder) => ({ ...config, database: join(folder, 'scratch.duckdb') }),
  open: async (config, context) => {
    const { openDuckdbDriver } = await import('./driver.ts');
    return createSqlSink(config, await openDuckdbDriver(config, context), context);
  },
  probe: async (config, context) => [await probeDatabase(config.database, context.env.cwd)],
});

/** Opens the file, or sees that it could be made, without making it. */
async function probeDatabase(database: string, cwd: string): Promise<ProbeFinding> {
  try {
    const path = pathOf(database, cwd);
    if (path === ':memory:' || existsSync(path))
      (await openToRead({ database, read_only: false }, cwd)).close();
    else accessSync(dirname(path), constants.W_OK);
    return { name: 'auth', status: 'pass' };
  } catch (error) {
    const hint = error instanceof ConnectorError ? error.hint : undefined;
    return {
      name: 'auth',
      status: 'fail',
      reason: messageOf(error),
      hint: hint ?? 'check the path in `database` and the permissions of its folder',
    };
  }
}
