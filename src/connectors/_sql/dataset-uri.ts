/** `<url>?query=<sql>` or `<url>?table=<name>`, the address without user, password and options. */
export function datasetUri(url: string, detail: { readonly query: string } | { readonly table: string }): string {
  const address = bareAddress(url);
  return 'query' in detail ? `${address}?query=${detail.query}` : `${address}?table=${detail.table}`;
}

function bareAddress(url: string): string {
  if (!URL.canParse(url)) return url.replace(/\?.*$/s, '').replace(/\/\/.*@/s, '//');
  const { protocol, hostname, port, pathname } = new URL(url);
  return `${protocol}//${hostname}${hostname === '' ? '' : `:${port === '' ? '5432' : port}`}${pathname}`;
}
