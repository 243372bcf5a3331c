/**
 * `<url>?query=<sql>` or `<url>?table=<name>`; user, password and options are removed from the
 * address.
 */
export function datasetUri(
  url: string,
  detail: { readonly query: string } | { readonly table: string },
  defaultPort: number,
): string {
  const address = bareAddress(url, defaultPort);
  return 'query' in detail
    ? `${address}?query=${detail.query}`
    : `${address}?table=${detail.table}`;
}

function bareAddress(url: string, defaultPort: number): string {
  // Text that is not an address may contain a password anywhere.
  if (!/^[a-z][a-z0-9+.-]*:\/\//i.test(url) || !URL.canParse(url)) return 'unknown://unknown';
  const { protocol, hostname, port, pathname } = new URL(url);
  return `${protocol}//${hostname}:${port === '' ? defaultPort : port}${pathname}`;
}
