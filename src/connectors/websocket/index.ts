import { connect as connectTcp } from 'node:net';
import { once } from 'node:events';
import type { SourceContext } from '../../kit/context.ts';
import type { ProbeFinding } from '../../kit/probe.ts';
import { defineSource } from '../../kit/source.ts';
import { messageOf } from '../../lib/errors.ts';
import { bareUrl } from '../_http/url.ts';
import { websocketConfig, type WebsocketConfig } from './config.ts';
import { WebsocketSource } from './source.ts';

export const websocketSource = defineSource<WebsocketConfig>({
  type: 'websocket',
  description: 'Reads the messages that a WebSocket server sends.',
  config: websocketConfig,
  examples: [
    { url: 'wss://feed.example.com/trades', max_messages: 1000, idle_timeout: 30 },
    {
      url: 'wss://feed.example.com/trades',
      auth: { type: 'bearer', config: { token: 'abcd1234' } },
      subscribe_messages: ['{"op": "subscribe", "channel": "trades"}'],
      envelope: true,
      ping_interval: 20,
      idle_timeout: 60,
      reconnect: true,
    },
  ],
  capabilities: () => ({ replay: 'none', bookmarks: false, encodings: [] }),
  datasetUri: ({ url }) => bareUrl(url),
  readsJson: true,
  open: (config, context) => Promise.resolve(new WebsocketSource(config, context)),
  probe: probeWebsocket,
});

/** Connects, and says nothing: what a server sends then would be lost. */
async function probeWebsocket(
  { url }: WebsocketConfig,
  { signal }: SourceContext,
): Promise<ProbeFinding[]> {
  const { hostname, port, protocol } = new URL(url);
  const usual = protocol === 'wss:' ? 443 : 80;
  const host = hostname.replaceAll(/^\[|\]$/g, '');
  const socket = connectTcp({ host, port: port === '' ? usual : Number(port) });
  try {
    await once(socket, 'connect', { signal });
    return [{ name: 'network', status: 'pass' }];
  } catch (error) {
    signal.throwIfAborted();
    return [{ name: 'network', status: 'fail', reason: messageOf(error), hint: 'check `url`' }];
  } finally {
    socket.destroy();
  }
}
