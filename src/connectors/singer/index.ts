import { defineSource } from '../../kit/source.ts';
import { singerSourceConfig, type SingerSourceConfig } from './config.ts';

export const singerSource = defineSource<SingerSourceConfig>({
  type: 'singer',
  description: 'Runs a tap of Singer as a program, and reads one of its streams.',
  config: singerSourceConfig,
  examples: [
    {
      executable: 'tap-github',
      stream: 'issues',
      tap_config: { access_token: '${env:GITHUB_TOKEN}', repository: 'acme/shop' },
    },
    {
      executable: '/opt/taps/tap-csv',
      stream: 'orders',
      args: ['--dev'],
      catalog: { streams: [{ tap_stream_id: 'orders', stream: 'orders', schema: {} }] },
      flush_on_state: false,
      idle_timeout_secs: 300,
      on_malformed: 'fail',
    },
  ],
  capabilities: () => ({ replay: 'none', bookmarks: true, encodings: [] }),
  datasetUri: ({ executable, stream }) =>
    `singer://${encodeURIComponent(executable.replaceAll('/', '_'))}/${encodeURIComponent(stream)}`,
  open: async (config, context) => new (await import('./source.ts')).SingerSource(config, context),
  probe: async (config, context) => (await import('./probe.ts')).probeTap(config, context),
});
