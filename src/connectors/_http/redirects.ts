import type { Credential } from '../../kit/context.ts';
import { ConnectorError } from '../../lib/errors.ts';
import { NO_PARTS, partsOf, withParts } from './credential-parts.ts';
import { withQuery } from './url.ts';
import { percentDecoded } from '../../lib/text/percent-decoded.ts';

/** One request before credentials are added. Header names are lower case. */
export interface Hop {
  readonly url: string;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | undefined;
}

export interface RedirectRules {
  /** Whether credentials may be sent to this address. */
  isTrusted(target: URL): boolean;
  readonly credential: Credential;
  /** Whether a request that would go on without its body fails instead. */
  readonly keepsBody?: boolean | undefined;
  /** The address as a message may show it. */
  show(url: string): string;
  send(url: string, init: RequestInit): Promise<Response>;
}

const MOST_HOPS = 10;
const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);
/**
 * The only headers sent to a host that may not see credentials; any other header may contain one.
 */
const HARMLESS: ReadonlySet<string> = new Set([
  'accept',
  'accept-language',
  'content-type',
  'prefer',
  'user-agent',
]);

/**
 * Sends a request and follows redirects itself, so that the login is sent only to the hosts it is
 * meant for.
 */
export async function followRedirects(
  first: Hop,
  rules: RedirectRules,
): Promise<{ readonly response: Response; readonly url: string }> {
  let hop = first;
  for (let hops = 0; hops <= MOST_HOPS; hops += 1) {
    const { url, init } = dressed(hop, rules);
    const response = await rules.send(url, init);
    const location = REDIRECTS.has(response.status) ? response.headers.get('location') : null;
    if (location === null) return { response, url: hop.url };
    await response.body?.cancel();
    hop = redirected(hop, response.status, { location, rules });
  }
  throw new ConnectorError(
    'refused',
    `${first.method} ${rules.show(first.url)} was redirected more than ${MOST_HOPS} times`,
    {
      hint: 'the server sends the request in a circle, often for want of a login: check the address and `auth`',
    },
  );
}

/**
 * The request with the credential or, for an untrusted host, without anything that might be one.
 */
function dressed(
  hop: Hop,
  rules: RedirectRules,
): { readonly url: string; readonly init: RequestInit } {
  const address = new URL(hop.url);
  const { credential } = rules;
  const trusted = rules.isTrusted(address);
  const headers = Object.fromEntries(
    Object.entries(hop.headers).filter(([name]) => trusted || HARMLESS.has(name)),
  );
  // `fetch` refuses an address with a login in it.
  const login = takeLogin(address);
  if (trusted && login !== undefined) headers['authorization'] = login;
  const { method } = hop;
  const own = trusted ? partsOf(credential, { method, url: address.href }) : NO_PARTS;
  const body = withParts(hop, own.body);
  if (body !== undefined) headers['content-type'] ??= 'application/json';
  return {
    url: withQuery(address.href, Object.entries(own.query)),
    init: {
      method,
      headers: { ...headers, ...own.headers },
      redirect: 'manual',
      ...(body === undefined ? {} : { body }),
    },
  };
}

/** Removes user and password from the address and returns them as a header value. */
function takeLogin(address: URL): string | undefined {
  if (address.username === '' && address.password === '') return undefined;
  const pair = `${percentDecoded(address.username)}:${percentDecoded(address.password)}`;
  address.username = '';
  address.password = '';
  return `Basic ${Buffer.from(pair).toString('base64')}`;
}

function redirected(
  hop: Hop,
  status: number,
  to: { readonly location: string; readonly rules: RedirectRules },
): Hop {
  const { rules, location } = to;
  const target = URL.parse(location, hop.url);
  if (target === null || (target.protocol !== 'http:' && target.protocol !== 'https:')) {
    throw new ConnectorError(
      'refused',
      `${hop.method} ${rules.show(hop.url)} was redirected to an address that is not valid`,
    );
  }
  const becomesGet =
    (status === 303 && hop.method !== 'HEAD') ||
    ((status === 301 || status === 302) && hop.method === 'POST');
  // With 303 the server says that it has taken the body.
  if (becomesGet && status !== 303 && hop.body !== undefined && rules.keepsBody === true)
    throw new ConnectorError(
      'refused',
      `${hop.method} ${rules.show(hop.url)} was redirected to ${rules.show(target.href)}, where it would arrive without its body`,
      { hint: 'use the final address; where that is a page to log in, check `auth`' },
    );
  if (becomesGet) {
    const { 'content-type': _type, ...headers } = hop.headers;
    return { url: target.href, method: 'GET', headers, body: undefined };
  }
  if (hop.body !== undefined && !rules.isTrusted(target)) {
    throw new ConnectorError(
      'refused',
      `${hop.method} ${rules.show(hop.url)} was redirected to another host, ${target.host}, and the body is not sent there`,
      {
        hint: 'use the final address, or add the host to `trusted_hosts`',
      },
    );
  }
  return { ...hop, url: target.href };
}
