import { defineSource } from '../../kit/source.ts';
import { typedSource } from '../../kit/typed-pages.ts';
import { bareUrl, joinUrl } from '../_http/url.ts';
import { NEXT_TOKEN, xmlConfig, type XmlConfig } from './config.ts';
import { openXml } from './source.ts';

export const xmlSource = defineSource<XmlConfig>({
  type: 'xml',
  description: 'Reads a web service that answers with XML, by SOAP too.',
  config: xmlConfig,
  ownTokens: [NEXT_TOKEN],
  examples: [
    {
      base_url: 'https://api.example.com',
      path: '/books.xml',
      records_element_path: 'catalog.book',
      pagination: { type: 'PageNumber', page_size: 100, page_size_param: 'size' },
    },
    {
      base_url: 'https://erp.example.com',
      path: '/services/Orders',
      soap: {
        action: 'urn:ListOrders',
        namespaces: { o: 'urn:orders' },
        body_inner: '<o:ListOrders/>',
      },
      records_element_path: 'ListOrdersResponse.Order',
      pagination: {
        type: 'BodyCursor',
        next_token_path: 'Envelope.Body.ListOrdersResponse.Next',
        next_body: '<o:ListOrders><o:From>${next_token}</o:From></o:ListOrders>',
      },
    },
  ],
  capabilities: () => ({ replay: 'none', bookmarks: false, encodings: [] }),
  datasetUri: ({ base_url: base, path }) => bareUrl(joinUrl(base, path)),
  declares: ({ columns }) => columns,
  infersTypes: ({ infer_types: infers }) => infers,
  open: async (config, context) =>
    typedSource(await openXml(config, context), {
      config,
      name: config.base_url,
      fromText: true,
      log: context.env.log,
    }),
});
