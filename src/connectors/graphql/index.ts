import { typedSource } from '../../kit/typed-pages.ts';
import { defineSource } from '../../kit/source.ts';
import { bareUrl } from '../_http/url.ts';
import { graphqlConfig, keepsPosition, type GraphqlConfig } from './config.ts';
import { openGraphql } from './source.ts';

export const graphqlSource = defineSource<GraphqlConfig>({
  type: 'graphql',
  description: 'Reads the answers of a GraphQL query, page by page.',
  config: graphqlConfig,
  ownTokens: ['bookmark'],
  examples: [
    { endpoint: 'https://api.example.com/graphql', query: '{ users { id name } }' },
    {
      endpoint: 'https://api.example.com/graphql',
      query:
        'query Orders($first: Int, $after: String) { orders(first: $first, after: $after) { edges { node { id total } } pageInfo { hasNextPage endCursor } } }',
      auth: { type: 'bearer', config: { token: 'abcd1234' } },
      records_path: '$.data.orders.edges[*].node',
      pagination: {},
      batch_size: 200,
    },
    {
      endpoint: 'https://api.example.com/graphql',
      query: 'query New($since: DateTime) { orders(since: $since) { id updatedAt } }',
      records_path: '$.data.orders',
      replication_method: { type: 'Incremental' },
      replication_key: 'updatedAt',
      replication_bind: { variable: 'since', format: 'iso8601' },
      state_key: 'orders',
    },
  ],
  capabilities: (config) => ({
    replay: 'none',
    bookmarks: keepsPosition(config),
    encodings: [],
  }),
  datasetUri: ({ endpoint }) => bareUrl(endpoint),
  declares: ({ columns }) => columns,
  infersTypes: ({ infer_types: infers }) => infers,
  readsJson: true,
  open: async (config, context) =>
    typedSource(await openGraphql(config, context), {
      config,
      name: config.endpoint,
      fromText: false,
      log: context.env.log,
    }),
});
