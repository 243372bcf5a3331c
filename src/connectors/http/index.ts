import { APPEND_ONLY, defineSink } from '../../kit/sink.ts';
import { shownUrl } from '../_http/url.ts';
import { httpConfig, type HttpConfig } from './config.ts';
import { probeHttpSink } from './probe.ts';
import { openHttpSink } from './sink.ts';

export const httpSink = defineSink<HttpConfig>({
  type: 'http',
  description: 'Sends records as JSON to a web address, one by one or as lists.',
  config: httpConfig,
  concurrencyKeys: ['concurrency'],
  examples: [
    { url: 'https://hooks.example.com/orders' },
    {
      url: 'https://api.example.com/v1/orders/bulk',
      method: 'PUT',
      auth: { type: 'bearer', config: { token: 'abcd1234' } },
      batch_mode: { type: 'Array' },
      batch_size: 200,
      max_retries: 3,
    },
  ],
  capabilities: (config) =>
    config.batch_mode.type === 'Individual'
      ? { ...APPEND_ONLY, atomicity: 'per_row', perRow: true }
      : APPEND_ONLY,
  datasetUri: (config) => shownUrl(config.url),
  open: openHttpSink,
  probe: probeHttpSink,
});
