/**
 * `<url>?query=<sql>`, `<url>?table=<name>`, `<url>?tables=<names>` or `<url>?publication=<name>`; user, password and
 * options are removed from the address.
 */
export function datasetUri(
  url: string,
  detail:
    | { readonly query: string }
    | { readonly table: string }
    | { readonly tables: readonly string[] }
    | { readonly publication: string },
  defaultPort: number,
): string {
  const address = bareAddress(url, defaultPort);
  if ('query' in detail) return `${address}?query=${detail.query}`;
  if ('table' in detail) return `${address}?table=${detail.table}`;
  if ('tables' in detail)
    return detail.tables.length === 0 ? address : `${address}?tables=${detail.tables.join(',')}`;
  return `${address}?publication=${detail.publication}`;
}

function bareAddress(url: string, defaultPort: number): string {
  // Text that is not an address may contain a password anywhere.
  if (!/^[a-z][a-z0-9+.-]*:\/\//i.test(url) || !URL.canParse(url)) return 'unknown://unknown';
  const { protocol, hostname, port, pathname } = new URL(url);
  return `${protocol}//${hostname}:${port === '' ? defaultPort : port}${pathname}`;
}
