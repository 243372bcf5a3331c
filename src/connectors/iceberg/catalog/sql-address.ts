/** Addresses of databases, as documents and other programs for Iceberg write them. */
import { postgresUrlFault } from '../../../lib/sql/postgres.ts';
import { parseSqliteUrl } from '../../../lib/sql/sqlite.ts';

export type SqlAddress =
  | { readonly is: 'sqlite'; readonly url: string }
  | { readonly is: 'postgres'; readonly url: string };

/** `undefined` for other databases. The prefix `jdbc:` and the name of a driver say nothing here. */
export function sqlAddress(uri: string): SqlAddress | undefined {
  const bare = uri.replace(/^jdbc:/i, '').replace(/^(postgres(?:ql)?|sqlite)\+[a-z0-9_]+:/i, '$1:');
  if (/^sqlite:/i.test(bare)) return { is: 'sqlite', url: bare };
  return /^postgres(?:ql)?:/i.test(bare) ? { is: 'postgres', url: bare } : undefined;
}

export function sqlUriFault(uri: string): string | undefined {
  const address = sqlAddress(uri);
  if (address === undefined) return 'a catalog is kept in SQLite or PostgreSQL';
  if (address.is === 'postgres') return postgresUrlFault(address.url);
  const parsed = parseSqliteUrl(address.url);
  return 'error' in parsed ? parsed.error : undefined;
}
