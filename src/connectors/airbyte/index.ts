import { defineSource } from '../../kit/source.ts';
import { airbyteSourceConfig, type AirbyteSourceConfig } from './config.ts';

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
  datasetUri: ({ command, namespace, stream }) => {
    const parts = [
      (command[0] ?? '').replaceAll('/', '_'),
      ...(namespace === undefined ? [] : [namespace]),
      stream,
    ];
    return `airbyte://${parts.map(encodeURIComponent).join('/')}`;
  },
  open: async (config, context) => new (await import('./source.ts')).AirbyteSource(config, context),
  discover: async (config, context) =>
    (await import('./source.ts')).discoverStreams(config, context),
  probe: async (config, context) => (await import('./probe.ts')).probeConnector(config, context),
});
