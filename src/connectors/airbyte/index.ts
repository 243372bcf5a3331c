import { APPEND_ONLY, defineSink } from '../../kit/sink.ts';
import { defineSource } from '../../kit/source.ts';
import { airbyteSourceConfig, type AirbyteSourceConfig } from './config.ts';
import { airbyteSinkConfig, type AirbyteSinkConfig } from './sink-config.ts';

export const airbyteSource = defineSource<AirbyteSourceConfig>({
  type: 'airbyte',
  description: 'Runs a source of Airbyte as a program, and reads one of its streams.',
  config: airbyteSourceConfig,
  examples: [
    {
      command: ['source-faker'],
      source_config: { count: 1000, seed: 1 },
      stream: 'users',
    },
    {
      command: ['/opt/connectors/github/bin/source-github'],
      source_config: {
        credentials: { personal_access_token: '${env:GITHUB_TOKEN}' },
        repositories: ['acme/shop'],
      },
      config_file: 'github-login.json',
      stream: 'issues',
      sync_mode: 'incremental',
      cursor_field: ['updated_at'],
      idle_timeout_secs: 600,
      on_malformed: 'fail',
    },
  ],
  capabilities: ({ sync_mode: mode }) => ({
    replay: 'none',
    bookmarks: mode === 'incremental',
    encodings: [],
  }),
  datasetUri: streamAddress,
  readsJson: true,
  open: async (config, context) => new (await import('./source.ts')).AirbyteSource(config, context),
  discover: async (config, context) =>
    (await import('./source.ts')).discoverStreams(config, context),
  probe: async (config, context) => (await import('./probe.ts')).probeConnector(config, context),
});

export const airbyteSink = defineSink<AirbyteSinkConfig>({
  type: 'airbyte',
  description: 'Runs a destination of Airbyte as a program, and hands it the records.',
  config: airbyteSinkConfig,
  examples: [
    {
      command: ['destination-pgvector'],
      destination_config: { host: 'db', password: '${env:DB_PASSWORD}' },
      stream: 'orders',
    },
    {
      command: ['python', '/opt/connectors/shop/main.py'],
      args: ['--debug'],
      destination_config: { folder: '/data' },
      config_file: 'shop-login.json',
      stream: 'orders',
      namespace: 'shop',
      schema: { type: 'object', properties: { id: { type: 'integer' } } },
      write_mode: 'upsert',
      key: ['id'],
      cursor_field: ['updated_at'],
      flush_on: 'exit',
      flush_timeout_secs: 3600,
      on_malformed: 'fail',
    },
  ],
  capabilities: ({ write_mode: writeMode, key, flush_on: flushOn }) => ({
    ...APPEND_ONLY,
    writeModes: ['append', 'upsert', 'overwrite'],
    writeMode,
    key: writeMode === 'upsert' ? key : [],
    flushDurable: flushOn === 'state' && writeMode !== 'overwrite',
    idempotent: writeMode === 'upsert',
  }),
  datasetUri: streamAddress,
  open: async (config, context) => new (await import('./sink.ts')).AirbyteSink(config, context),
  probe: async (config, context) => (await import('./probe.ts')).probeDestination(config, context),
});

function streamAddress({
  command,
  namespace,
  stream,
}: Pick<AirbyteSinkConfig, 'command' | 'namespace' | 'stream'>): string {
  const parts = [(command[0] ?? '').replaceAll('/', '_'), namespace, stream];
  const known = parts.filter((part) => part !== undefined);
  return `airbyte://${known.map(encodeURIComponent).join('/')}`;
}
