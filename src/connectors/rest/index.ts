import { typedSource } from '../../kit/typed-pages.ts';
import { rejectingLane } from '../../kit/rejected-record.ts';
import { defineSource } from '../../kit/source.ts';
import { bareUrl, joinUrl } from '../_http/url.ts';
import { keepsPosition, restConfig, type RestConfig } from './config/config.ts';
import { discoverEntities } from './discover.ts';
import { setUp } from './request/setup.ts';
import { shapeOf } from './request/shape.ts';
import { RestSource } from './read/source.ts';

export const restSource = defineSource<RestConfig>({
  type: 'rest',
  description:
    'Reads a web API: JSON pages, files, OData services and jobs, with paging, retries and incremental reading.',
  config: restConfig,
  concurrencyKeys: ['partition_concurrency'],
  ownTokens: ['bookmark', 'job_id', 'window'],
  examples: [
    { base_url: 'https://api.example.com', path: '/v1/users' },
    {
      base_url: 'https://api.example.com',
      path: '/v2/orders',
      auth: { type: 'bearer', config: { token: 'abcd1234' } },
      records_path: '$.items[*]',
      pagination: { type: 'Cursor', next_token_path: '$.next', param_name: 'after' },
      replication_method: { type: 'Incremental' },
      replication_key: 'changed_at',
      start_replication_value: '2025-01-01T00:00:00Z',
      replication_bind: { name: 'since', format: 'iso8601' },
      state_key: 'orders',
    },
    {
      base_url: 'https://api.example.com',
      path: '/regions/{region}/sales',
      partitions: [{ region: 'north' }, { region: 'south' }],
      partition_concurrency: 2,
      pagination: { type: 'Offset', limit: 100 },
    },
    {
      base_url: 'https://api.example.com',
      path: '/report.csv',
      response_format: 'csv',
      csv_delimiter: ';',
    },
    {
      base_url: 'https://odata.example.com/v4',
      odata: { entity: 'Orders', select: 'Id,Total', filter: 'Total gt 10', page_size: 500 },
    },
  ],
  capabilities: (config) => ({
    replay: 'none',
    bookmarks: keepsPosition(config),
    encodings: [],
    ...(config.on_error === 'dlq' ? rejectingLane([]) : {}),
  }),
  quarantines: ({ on_error: onError }) => onError === 'dlq',
  datasetUri: (config) => bareUrl(joinUrl(config.base_url, shapeOf(config).path)),
  declares: ({ columns }) => columns,
  infersTypes: ({ infer_types: infers }) => infers,
  readsJson: true,
  open: async (config, context) =>
    typedSource(new RestSource(await setUp(config, context)), {
      config,
      name: config.base_url,
      fromText: config.response_format === 'csv' || config.response_format === 'excel',
      infersFromText: config.response_format === 'csv',
      rejects: config.on_error === 'dlq',
      log: context.env.log,
    }),
  discover: discoverEntities,
});
