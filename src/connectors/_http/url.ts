/** Builds addresses, and hides their secrets where they are shown. */

const SECRET_NAME = /key|token|secret|pass|pwd|sig|auth|credential|session|code|jwt/i;

/** Whether a header or parameter of this name probably holds a secret. */
export function looksSecret(name: string): boolean {
  return SECRET_NAME.test(name) || name.toLowerCase() === 'cookie';
}

/**
 * The address as a message may show it: no user info, no fragment, secret-looking query values
 * masked.
 */
export function safeUrl(address: string, secretParams: Iterable<string> = []): string {
  const url = URL.parse(address);
  if (url === null) return address.replace(/[?#].*$/s, '').replace(/\/\/[^/]*@/, '//');
  const secret = new Set(secretParams);
  const pairs = [...url.searchParams].map(([name, value]) => {
    const hidden = secret.has(name) || SECRET_NAME.test(name);
    return `${encodeURIComponent(name)}=${hidden ? '***' : encodeURIComponent(value)}`;
  });
  return `${url.protocol}//${url.host}${url.pathname}${pairs.length === 0 ? '' : `?${pairs.join('&')}`}`;
}

/** The address without user info, query and fragment: the name of a data set. */
export function bareUrl(address: string): string {
  const url = URL.parse(address);
  if (url === null) return address.replace(/[?#].*$/s, '').replace(/\/\/[^/]*@/, '//');
  // Keeps placeholders that are replaced later readable.
  const path =
    url.pathname === '/' ? '' : url.pathname.replaceAll('%7B', '{').replaceAll('%7D', '}');
  return `${url.protocol}//${url.host}${path}`;
}

/** The same with its query, which may say where the data goes; secret-looking values are masked. */
export function shownUrl(address: string): string {
  const query = /\?[^#]*/.exec(safeUrl(address))?.[0] ?? '';
  return bareUrl(address) + query;
}

/** `base` and `path` with exactly one slash between them. An absolute `path` replaces `base`. */
export function joinUrl(base: string, path: string): string {
  if (/^https?:\/\//i.test(path)) return path;
  const cut = base.indexOf('?');
  if (cut !== -1) return joinQuery(joinUrl(base.slice(0, cut), path), base.slice(cut + 1));
  const trimmed = base.replace(/\/+$/, '');
  if (path === '' || path.startsWith('?')) return trimmed + path;
  return `${trimmed}/${path.replace(/^\/+/, '')}`;
}

/** The query of the base stays at the end. */
function joinQuery(url: string, query: string): string {
  if (query === '') return url;
  return `${url}${url.includes('?') ? '&' : '?'}${query}`;
}

export type QueryPairs = readonly (readonly [name: string, value: string])[];

/** Sets each parameter to the given values, replacing the ones in the address. */
export function withQuery(address: string, pairs: QueryPairs): string {
  if (pairs.length === 0) return address;
  const url = new URL(address);
  for (const name of new Set(pairs.map(([one]) => one))) url.searchParams.delete(name);
  for (const [name, value] of pairs) url.searchParams.append(name, value);
  return url.href;
}

/** Whether credentials for `homes` may be sent to `target`. */
export function isTrusted(
  target: URL,
  homes: ReadonlySet<string>,
  trustedHosts: ReadonlySet<string>,
): boolean {
  if (homes.has(target.origin)) return true;
  const { host, hostname, protocol } = target;
  // Credentials for an https address are never sent without encryption.
  const spoken = protocol === 'https:' || [...homes].some((home) => home.startsWith('http:'));
  return spoken && (trustedHosts.has(host) || trustedHosts.has(hostname));
}

/** The target of `rel="next"` in a `Link` header (RFC 8288), unchanged. */
export function nextLink(header: string | null): string | undefined {
  if (header === null) return undefined;
  for (const [, target, parameters] of header.matchAll(
    /<([^>]*)>((?:\s*;\s*[^\s=;,]+(?:\s*=\s*(?:"[^"]*"|[^",;\s]*))?)*)/g,
  )) {
    const rel = /;\s*rel\s*=\s*(?:"([^"]*)"|([^",;\s]*))/i.exec(parameters ?? '');
    const relations = (rel?.[1] ?? rel?.[2] ?? '').toLowerCase().split(/\s+/);
    if (relations.includes('next')) return target;
  }
  return undefined;
}
