/**
 * `<url>?query=<sql>`, `<url>?table=<name>` or `<url>?publication=<name>`; user, password and
 * options are removed from the address.
 */
export function datasetUri(
  url: string,
  detail:
    | { readonly query: string }
    | { readonly table: string }
    | { readonly publication: string },
  defaultPort: number,
): string {
  const address = bareAddress(url, defaultPort);
  if ('query' in detail) return `${address}?query=${detail.query}`;
  if ('table' in detail) return `${address}?table=${detail.table}`;
  return `${address}?publication=${detail.publication}`;
}

function bareAddress(url: string, defaultPort: number): string {
  // Text that is not an address may contain a password anywhere.
  if (!/^[a-z][a-z0-9+.-]*:\/\//i.test(url) || !URL.canParse(url)) return 'unknown://unknown';
  const { protocol, hostname, port, pathname } = new URL(url);
  return `${protocol}//${hostname}:${port === '' ? defaultPort : port}${pathname}`;
}
