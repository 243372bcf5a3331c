import { percentDecoded } from '../../lib/text/percent-decoded.ts';

export interface NatsServer {
  /** `host:port`. */
  readonly host: string;
  readonly isTls: boolean;
  /** A name alone is a token. */
  readonly login?: { readonly user: string; readonly password?: string };
}

const PORT = '4222';

/** `nats://user:password@host:port`, `tls://…`, or `host:port`; `undefined` for anything else. */
export function serverOf(address: string): NatsServer | undefined {
  const text = address.includes('://') ? address : `nats://${address}`;
  if (!/^(?:nats|tls):\/\//i.test(text) || !URL.canParse(text)) return undefined;
  const { protocol, hostname, port, username, password, pathname, search } = new URL(text);
  if (hostname === '' || search !== '' || (pathname !== '' && pathname !== '/')) return undefined;
  const decoded = [percentDecoded(username), percentDecoded(password)] as const;
  return {
    host: `${hostname}:${port === '' ? PORT : port}`,
    isTls: protocol === 'tls:',
    ...(username === '' ? {} : { login: loginOf(...decoded) }),
  };
}

function loginOf(user: string, password: string): NonNullable<NatsServer['login']> {
  return password === '' ? { user } : { user, password };
}

/** `nats://host:port?subject=…`, without the login. */
export function natsUri(servers: readonly string[], subject: string): string {
  return `nats://${serverOf(servers[0] ?? '')?.host ?? ''}?subject=${subject}`;
}
