/** Which requests are for this server, going by their `Host` and `Origin`. */
import { RefusedError } from '../../lib/errors.ts';
import { isLoopback } from './listen.ts';

const HOST = 'host';

/**
 * A page of another site can make a browser send requests here by having its own name lead to this
 * machine. Where no token protects the server, only names of this machine are served: browsers let
 * no page choose the header.
 */
export function hostRefusal(
  rawHeaders: readonly string[],
  isLocalOnly: { readonly listenHost: string } | undefined,
): RefusedError | undefined {
  let host: string | undefined;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    if (rawHeaders[at]?.length !== HOST.length || rawHeaders[at]?.toLowerCase() !== HOST) continue;
    if (host !== undefined)
      return new RefusedError('bad_config', 'the request has more than one `Host` header');
    host = rawHeaders[at + 1];
  }
  if (isLocalOnly === undefined || host === undefined) return undefined;
  const name = nameOf(host);
  if (isLoopback(name) || name === isLocalOnly.listenHost.toLowerCase()) return undefined;
  return new RefusedError('forbidden', `the server does not answer for the host \`${name}\``, {
    hint: 'call it as localhost or 127.0.0.1, or start it with tokens in place of --no-auth',
  });
}

export function noHost(): RefusedError {
  return new RefusedError('bad_config', 'the request has no `Host` header');
}

/** Requests that change nothing, whose answers browsers keep from pages of other sites. */
const HARMLESS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS']);

/**
 * A page of any site can make a browser send a request that has no body, or plain text: browsers ask
 * for no leave then, and say only which page it was. Where no token protects the server, such a
 * request changes nothing.
 */
export function originRefusal(
  { method, origin }: { readonly method: string; readonly origin: string | undefined },
  isLocalOnly: { readonly listenHost: string } | undefined,
): RefusedError | undefined {
  if (isLocalOnly === undefined || origin === undefined || HARMLESS.has(method)) return undefined;
  const name = URL.canParse(origin) ? nameOf(new URL(origin).host) : '';
  if (isLoopback(name) || name === isLocalOnly.listenHost.toLowerCase()) return undefined;
  return new RefusedError('forbidden', `pages of \`${origin}\` may change nothing here`, {
    hint: 'name the origin in --cors-origin, or start the server with tokens in place of --no-auth',
  });
}

/** Without the port, and without the brackets of an IPv6 address. */
function nameOf(host: string): string {
  const name = /^\[([^\]]*)\](?::\d*)?$/.exec(host)?.[1] ?? host.replace(/:\d*$/, '');
  return name.toLowerCase();
}
