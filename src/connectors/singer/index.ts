import { APPEND_ONLY, defineSink } from '../../kit/sink.ts';
import { defineSource } from '../../kit/source.ts';
import { singerSourceConfig, type SingerSourceConfig } from './config.ts';
import { singerSinkConfig, type SingerSinkConfig } from './sink-config.ts';

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
  readsJson: true,
  open: async (config, context) => new (await import('./source.ts')).SingerSource(config, context),
  probe: async (config, context) => (await import('./probe.ts')).probeTap(config, context),
});

export const singerSink = defineSink<SingerSinkConfig>({
  type: 'singer',
  description: 'Runs a target of Singer as a program, and hands it the records.',
  config: singerSinkConfig,
  examples: [
    { target_command: 'target-csv', target_config: { destination_path: 'out' }, stream: 'orders' },
    {
      target_command: '/opt/targets/target-postgres',
      target_config: { host: 'db', password: '${env:DB_PASSWORD}' },
      env: { LOGLEVEL: 'warning' },
      inherit_env: false,
      stream: 'orders',
      schema: { type: 'object', properties: { id: { type: 'integer' } } },
      write_mode: 'upsert',
      key: ['id'],
      flush_on: 'state',
      flush_timeout_secs: 120,
    },
  ],
  capabilities: ({ write_mode: writeMode, key, flush_on: flushOn }) => ({
    ...APPEND_ONLY,
    writeModes: ['append', 'upsert', 'overwrite'],
    writeMode,
    key: writeMode === 'upsert' ? key : [],
    flushDurable: flushOn === 'state',
    idempotent: writeMode === 'upsert',
  }),
  datasetUri: ({ target_command: command, stream }) =>
    `singer://${[command.replaceAll('/', '_'), ...(stream === undefined ? [] : [stream])].map(encodeURIComponent).join('/')}`,
  open: async (config, context) => new (await import('./sink.ts')).SingerSink(config, context),
  probe: async (config, context) => (await import('./probe.ts')).probeTarget(config, context),
});
