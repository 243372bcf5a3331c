import type { LineageTransport } from '../../blocks/lineage/schema.ts';
import type { Outages } from '../../lib/outages.ts';
import { topicTransport } from './topic-transport.ts';
import { fileTransport, httpTransport, type Transport, type TransportEnv } from './transport.ts';

/** As the document says where events go. */
export function transportOf(
  transport: LineageTransport,
  env: TransportEnv,
  outages: Outages,
): Transport {
  switch (transport.type) {
    case 'http':
      return httpTransport(transport.config, env, outages);
    case 'file':
      return fileTransport(transport.config.path, env.cwd);
    case 'kafka':
    case 'broker':
      return topicTransport(transport.config, env, outages);
    default:
      return transport satisfies never;
  }
}
