/**
 * `<url>?query=<sql>` or `<url>?table=<name>`; the address keeps host, port and database, and loses
 * user, password and options.
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
  // What does not look like an address may hold a password anywhere.
  if (!/^[a-z][a-z0-9+.-]*:\/\//i.test(url) || !URL.canParse(url)) return 'unknown://unknown';
  const { protocol, hostname, port, pathname } = new URL(url);
  return `${protocol}//${hostname}:${port === '' ? defaultPort : port}${pathname}`;
}
