import { defineSource } from '../../kit/source.ts';
import { bareUrl } from '../_http/url.ts';
import { grpcConfig, type GrpcConfig } from './config.ts';
import { openGrpc } from './source.ts';

export const grpcSource = defineSource<GrpcConfig>({
  type: 'grpc',
  description: 'Reads the answer, or the stream of answers, of a method of a gRPC server.',
  config: grpcConfig,
  examples: [
    {
      endpoint: 'https://api.example.com:443',
      service_name: 'shop.v1.Orders',
      method_name: 'ListOrders',
      descriptor_set_path: 'shop.binpb',
      request: { page_size: 500 },
      auth: { type: 'bearer', config: { token: 'abcd1234' } },
      records_path: '$.orders[*]',
    },
    {
      endpoint: 'http://localhost:50051',
      service_name: 'shop.v1.Orders',
      method_name: 'WatchOrders',
      descriptor_set_path: 'shop.binpb',
      rpc_kind: 'server_streaming',
      max_messages: 10_000,
      reconnect_replay_from_start: false,
    },
  ],
  capabilities: () => ({ replay: 'none', bookmarks: false, encodings: [] }),
  datasetUri: ({ endpoint, service_name: service, method_name: method }) =>
    `${bareUrl(endpoint).replace(/\/$/, '')}/${service}/${method}`,
  open: openGrpc,
});
