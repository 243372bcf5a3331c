/** Connections that carry packets: plain, encrypted, or inside of WebSocket. */
import { once } from 'node:events';
import { connect as connectTcp } from 'node:net';
import type { Duplex } from 'node:stream';
import { connect as connectTls } from 'node:tls';
import { secureOptions } from '../_http/connections.ts';
import type { MqttAddress } from './addresses.ts';
import type { MqttConnectionConfig } from './config.ts';

/** Resolves when it stands; rejects with the error of the system, and with the reason of the signal. */
export async function openStream(
  address: MqttAddress,
  tls: MqttConnectionConfig['tls'],
  { cwd, signal }: { readonly cwd: string; readonly signal: AbortSignal },
): Promise<Duplex> {
  const { host, port, webSocket } = address;
  const isTls = tls === undefined ? address.isTls : tls !== false;
  const secure = typeof tls === 'object' ? await secureOptions(tls, cwd) : {};
  if (webSocket !== undefined) return openWebSocket(webSocket, { isTls, secure, signal });
  const stream = isTls
    ? connectTls({ host, port, ...named(host), ...secure })
    : connectTcp({ host, port, noDelay: true });
  try {
    await once(stream, isTls ? 'secureConnect' : 'connect', { signal });
    return stream;
  } catch (error) {
    stream.on('error', () => {}).destroy();
    throw error;
  }
}

/** The name of an address of the network is not sent. */
function named(host: string): { servername?: string } {
  return /^[\d.]+$|:/.test(host) ? {} : { servername: host };
}

async function openWebSocket(
  url: string,
  {
    isTls,
    secure,
    signal,
  }: { readonly isTls: boolean; readonly secure: object; readonly signal: AbortSignal },
): Promise<Duplex> {
  const { WebSocket, createWebSocketStream } = await import('ws');
  const address = isTls ? url.replace(/^ws:/, 'wss:') : url;
  const socket = new WebSocket(address, 'mqtt', secure);
  try {
    await once(socket, 'open', { signal });
    return createWebSocketStream(socket);
  } catch (error) {
    socket.on('error', () => {}).terminate();
    throw error;
  }
}
