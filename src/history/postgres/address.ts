/** The address of a history in PostgreSQL. */
import { HistoryError } from '../history.ts';
import { percentDecoded } from '../../lib/text/percent-decoded.ts';

export interface PostgresAddress {
  /** As the client understands it. */
  readonly url: string;
  /** Where the tables are; otherwise where the server puts those of this user. */
  readonly schema: string | undefined;
}

export function isPostgresAddress(where: string): boolean {
  return /^postgres(?:ql)?:\/\//.test(where);
}

/** `schema` among the parameters is ours. Throws `HistoryError`, without the password. */
export function postgresAddress(where: string): PostgresAddress {
  if (!URL.canParse(where) || !isPercentEncoded(where))
    throw new HistoryError('the address of the history database cannot be read', {
      hint: 'write `postgres://user:password@host:port/database`, with special characters of the password in percent encoding',
    });
  const url = new URL(where);
  const schema = url.searchParams.get('schema') ?? undefined;
  if (schema !== undefined && !/^[a-z_][a-z0-9_]{0,62}$/.test(schema))
    throw new HistoryError('`schema` in the address of the history database is not a plain name', {
      hint: 'use lower case letters, digits and `_`, as in `?schema=headgate`',
    });
  url.searchParams.delete('schema');
  return { url: url.href, schema };
}

/** The client refuses a `%` in the login that does not start a code. */
function isPercentEncoded(where: string): boolean {
  const { username, password } = new URL(where);
  try {
    decodeURIComponent(username + password);
    return true;
  } catch {
    return false;
  }
}

/** For people: neither login nor parameters. */
export function shownAddress(where: string): string {
  if (!URL.canParse(where)) return 'PostgreSQL';
  const { host, pathname } = new URL(where);
  return `${host}${pathname}`;
}

/** The password that stands in the address, if one does. */
export function passwordIn(where: string): readonly string[] {
  if (!URL.canParse(where)) return [];
  const { password, searchParams } = new URL(where);
  const found = [percentDecoded(password), searchParams.get('password') ?? ''];
  return found.filter((one) => one !== '');
}
