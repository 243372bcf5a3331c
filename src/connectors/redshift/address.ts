/** Where a cluster is, for messages and for the client. */
import type { Endpoint } from './config.ts';

/** Without the login. */
export function clusterUri({ host, port, database }: Endpoint): string {
  return `redshift://${host}:${port}/${encodeURIComponent(database)}`;
}

/** As the client of PostgreSQL reads it. */
export function connectionUrl(endpoint: Endpoint): string {
  const { host, port, database, user, credentials, tls } = endpoint;
  const password = credentials.type === 'password' ? credentials.config.password : '';
  const name = host.includes(':') && !host.startsWith('[') ? `[${host}]` : host;
  const login = `${encodeURIComponent(user)}:${encodeURIComponent(password)}`;
  const mode = tls ? 'verify-full' : 'disable';
  return `postgres://${login}@${name}:${port}/${encodeURIComponent(database)}?sslmode=${mode}`;
}
