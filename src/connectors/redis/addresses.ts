/** `redis://host:port/db` with what is read or written there, without the login. */
export function redisUri(url: string, detail: Readonly<Record<string, string>>): string {
  const { protocol, hostname, port, pathname } = new URL(url);
  const db = pathname === '' || pathname === '/' ? '/0' : pathname;
  const query = Object.entries(detail).map(([name, value]) => `${name}=${value}`);
  const host = hostname === '' ? 'localhost' : hostname;
  return `${protocol}//${host}:${port === '' ? 6379 : port}${db}?${query.join('&')}`;
}
