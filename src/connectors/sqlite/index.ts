import { accessSync, constants, existsSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { messageOf } from '../../lib/errors.ts';
import { MEMORY, openSqlite, parseSqliteUrl } from '../../lib/sql/sqlite.ts';
import type { ProbeFinding } from '../../kit/probe.ts';
import { defineSink, type SinkCapabilities } from '../../kit/sink.ts';
import { defineSource } from '../../kit/source.ts';
import { fileError } from '../_files/io-error.ts';
import { createSqlSink } from '../_sql/sink.ts';
import { canSweep, readTable, sqlSinkCapabilities, takesBlocks } from '../_sql/sink-fields.ts';
import { inOneCase } from '../../lib/sql/sql-name.ts';
import {
  sqliteSinkConfig,
  sqliteSourceConfig,
  type SqliteSinkConfig,
  type SqliteSourceConfig,
} from './config.ts';
import { openSqliteDriver } from './driver.ts';
import { readColumns } from './schema.ts';
import { tableFinding } from '../_sql/probe-table.ts';
import { SQLITE_ROWS } from '../../fast/sqlite/row-blocks.ts';
import { describeResult, sqliteSlices } from './slices.ts';
import { discoverTables, openSqliteSource, whyRecords } from './source.ts';

export const sqliteSource = defineSource<SqliteSourceConfig>({
  type: 'sqlite',
  description: 'Rows of a query on a SQLite database file.',
  config: sqliteSourceConfig,
  boundKeys: ['query'],
  examples: [{ database_url: 'sqlite:data/shop.db', query: 'SELECT id, name FROM customers' }],
  capabilities: (config) => {
    const why = whyRecords(config);
    const form =
      why === undefined ? { encodings: [SQLITE_ROWS] } : { encodings: [], recordsBecause: why };
    return { replay: 'none', bookmarks: false, ...form };
  },
  datasetUri: (config) => `sqlite://${pathOf(config.database_url)}?query=${config.query}`,
  open: async (config, context) => openSqliteSource(config, context),
  describe: async (config, context) => describeResult(config, context),
  slices: sqliteSlices,
  discover: async (config, context) => discoverTables(config, context),
});

export const sqliteSink = defineSink<SqliteSinkConfig>({
  type: 'sqlite',
  description: 'Rows of a table in a SQLite database file.',
  config: sqliteSinkConfig,
  examples: [
    { database_url: 'sqlite:data/shop.db', table_name: 'events' },
    {
      database_url: 'sqlite:data/shop.db',
      table_name: 'customers',
      column_mapping: 'auto_map',
      write_mode: 'upsert',
      key: ['id'],
    },
  ],
  capabilities: (config) => ({
    ...sqlSinkCapabilities(config),
    ...formOf(config),
    sweep: canSweep(config),
    fenced: true,
  }),
  datasetUri: (config) => `sqlite://${pathOf(config.database_url)}?table=${config.table_name}`,
  place: (config) =>
    `sqlite://${pathOf(config.database_url)}?table=${inOneCase(config.table_name)}`,
  readBack: (config) => {
    const path = pathOf(config.database_url);
    return path === MEMORY
      ? undefined
      : { type: 'sqlite', ...readTable(config, { database_url: `sqlite:${path}?mode=ro` }) };
  },
  temporary: (config, folder) => ({
    ...config,
    database_url: `sqlite:${join(folder, 'scratch.db')}?mode=rwc`,
  }),
  open: async (config, context) =>
    createSqlSink(config, openSqliteDriver(config, context), context),
  probe: async (config, context) => probeDatabase(config, context.env.cwd),
});

/**
 * The database can fetch rows from another file itself when they go into columns and the page is
 * not read before.
 */
function formOf(
  config: SqliteSinkConfig,
): Pick<SinkCapabilities, 'encodings' | 'recordsBecause' | 'rollback'> {
  if (pathOf(config.database_url) === MEMORY) {
    return {
      encodings: [],
      recordsBecause: 'the sink is not a database file',
      rollback: 'does not write a database file, so nothing is left to roll back',
    };
  }
  if (config.column_mapping.kind !== 'auto')
    return { encodings: [], recordsBecause: 'the sink stores whole records' };
  if (takesBlocks(config)) return { encodings: [SQLITE_ROWS] };
  return { encodings: [], recordsBecause: `\`write_mode: ${config.write_mode}\` takes records` };
}

/** Opens the file, or checks that it could be created, without creating it. */
function probeDatabase(config: SqliteSinkConfig, cwd: string): ProbeFinding[] {
  const { database_url: url, table_name: table } = config;
  try {
    const path = resolve(cwd, pathOf(url));
    if (pathOf(url) === MEMORY) return [{ name: 'auth', status: 'pass' }];
    if (!existsSync(path)) {
      // A run makes the folders that are missing.
      let folder = dirname(path);
      while (!existsSync(folder)) folder = dirname(folder);
      // With the slash a file in the place of a folder is refused, too.
      requireWritable(`${folder}/`);
      return [{ name: 'auth', status: 'pass' }, tableFinding(config, undefined)];
    }
    requireWritable(path);
    const db = openSqlite(url, { mode: 'rw', cwd });
    try {
      const columns = readColumns(db, table)?.map(({ name }) => name);
      return [{ name: 'auth', status: 'pass' }, tableFinding(config, columns, inOneCase)];
    } finally {
      db.close();
    }
  } catch (error) {
    const hint = 'check the path of `database_url` and the permissions of the file and its folder';
    return [{ name: 'auth', status: 'fail', reason: messageOf(error), hint }];
  }
}

function requireWritable(path: string): void {
  try {
    accessSync(path, constants.W_OK);
  } catch (error) {
    throw fileError(error, 'write', path);
  }
}

function pathOf(url: string): string {
  const address = parseSqliteUrl(url);
  return 'error' in address ? url : address.path;
}
