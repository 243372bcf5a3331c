import { join } from 'node:path';
import { APPEND_ONLY, defineSink } from '../../kit/sink.ts';
import { defineSource } from '../../kit/source.ts';
import type { JsonObject } from '../../lib/text/json.ts';
import { fileUri } from '../_files/paths.ts';
import {
  deltaSinkConfig,
  deltaSourceConfig,
  type DeltaSinkConfig,
  type DeltaSourceConfig,
} from './config.ts';

export const deltaSource = defineSource<DeltaSourceConfig>({
  type: 'delta',
  description: 'Reads a table of Delta Lake, as it is or as it was at an earlier version.',
  config: deltaSourceConfig,
  examples: [
    { table_uri: 'lake/orders' },
    { table_uri: 's3://lake/orders', version: 12, columns: ['id', 'amount'] },
    {
      table_uri: 'abfss://lake@acme.dfs.core.windows.net/orders',
      credentials: { type: 'azure', config: { access_key: 'SECRET' } },
      timestamp: '2026-01-31T12:00:00Z',
    },
  ],
  capabilities: () => ({ replay: 'none', bookmarks: false, encodings: [] }),
  datasetUri: tableAddress,
  open: async (config, context) =>
    (await import('./read/source.ts')).DeltaSource.open(config, context),
  probe: async (config, context) => (await import('./probe.ts')).probeTable(config, context),
});

export const deltaSink = defineSink<DeltaSinkConfig>({
  type: 'delta',
  description: 'Adds records to a table of Delta Lake, or replaces it, in atomic commits.',
  config: deltaSinkConfig,
  examples: [
    { table_uri: 'lake/orders', partition_by: ['day'] },
    { table_uri: 's3://lake/orders', storage_options: { aws_region: 'eu-north-1' } },
    { table_uri: 'gs://lake/orders', write_mode: 'overwrite', merge_schema: true },
  ],
  capabilities: ({ write_mode: writeMode, merge_schema: merges }) => ({
    ...APPEND_ONLY,
    writeModes: ['append', 'overwrite'],
    writeMode,
    atomicity: 'atomic',
    token: writeMode === 'append',
    fenced: writeMode === 'overwrite',
    schema: merges ? 'none' : 'read',
    rollback: 'keeps no rollback log; earlier versions of the table can be read and restored',
  }),
  datasetUri: tableAddress,
  readBack: (config) => ({ type: 'delta', config: whereOf(config) }),
  temporary: (config, folder) => {
    const { credentials: _who, storage_options: _how, ...rest } = config;
    return { ...rest, table_uri: join(folder, 'delta') };
  },
  open: async (config, context) =>
    (await import('./write/sink.ts')).DeltaSink.open(config, context),
  probe: async (config, context) =>
    (await import('./probe.ts')).probeTable(config, context, config),
});

/** Without a `/` at its end; a path as an address. */
function tableAddress({ table_uri: uri }: { readonly table_uri: string }): string {
  const bare = uri.length > 1 ? uri.replace(/\/+$/, '') : uri;
  return /^[a-zA-Z][a-zA-Z0-9+.-]+:\/\//.test(bare) ? bare : fileUri(bare);
}

function whereOf({
  table_uri,
  credentials,
  storage_options: options,
}: DeltaSinkConfig): JsonObject {
  return JSON.parse(
    JSON.stringify({ table_uri, credentials, storage_options: options }),
  ) as JsonObject;
}
