const PORTS: Readonly<Record<string, number>> = {
  'mqtt:': 1883,
  'mqtts:': 8883,
  'ws:': 80,
  'wss:': 443,
};

export interface MqttAddress {
  readonly host: string;
  readonly port: number;
  readonly isTls: boolean;
  /** The address of a connection inside of WebSocket, without its login. */
  readonly webSocket?: string;
  readonly username?: string;
  readonly password?: string;
}

/** `undefined` for a text that is no address of an MQTT server. */
export function addressOf(url: string): MqttAddress | undefined {
  if (!URL.canParse(url)) return undefined;
  const { protocol, hostname, port, username, password, pathname, search, host } = new URL(url);
  const usual = PORTS[protocol];
  const isWeb = protocol.startsWith('ws');
  if (usual === undefined || hostname === '') return undefined;
  if (!isWeb && !/^\/?$/.test(pathname + search)) return undefined;
  return {
    host: hostname.replaceAll(/^\[|\]$/g, ''),
    port: port === '' ? usual : Number(port),
    isTls: protocol === 'mqtts:' || protocol === 'wss:',
    ...(isWeb ? { webSocket: `${protocol}//${host}${pathname}${search}` } : {}),
    ...(username === '' ? {} : { username: decodeURIComponent(username) }),
    ...(password === '' ? {} : { password: decodeURIComponent(password) }),
  };
}

/** The address without its login. */
export function mqttUri(url: string, query: string): string {
  const { hostname, port, protocol } = new URL(url);
  return `mqtt://${hostname}:${port === '' ? PORTS[protocol] : port}?${query}`;
}
