/** Addresses of MySQL and MariaDB: `mysql://user:password@host:port/database?option=value`. */
import { percentDecoded } from '../text/percent-decoded.ts';

const PORT = 3306;

/** `disabled` sends plain text; `preferred` also where the server has no TLS. */
export type TlsMode = 'disabled' | 'preferred' | 'required' | 'verify_ca' | 'verify_identity';
const TLS_MODES: readonly string[] = [
  'disabled',
  'preferred',
  'required',
  'verify_ca',
  'verify_identity',
] satisfies readonly TlsMode[];

export interface MysqlAddress {
  readonly host: string;
  readonly port: number;
  readonly user: string;
  readonly password: string;
  readonly database: string | undefined;
  /** Path of a local socket, used instead of host and port. */
  readonly socket: string | undefined;
  readonly tls: TlsMode;
  /** Path of a file with the certificates of authorities. */
  readonly ca: string | undefined;
}

const OPTIONS = ['ssl-mode', 'ssl-ca', 'socket'];

/** The parts of an address, or what is wrong with it. */
export function parseMysqlAddress(
  url: string,
): MysqlAddress | { readonly fault: string; readonly hint?: string } {
  if (!URL.canParse(url) || !/^(?:mysql|mariadb):\/\//i.test(url)) {
    return {
      fault:
        'this is not an address of MySQL; write `mysql://user:password@host:port/database`, with special letters percent-encoded',
    };
  }
  const { hostname, port, username, password, pathname, searchParams } = new URL(url);
  const unknown = [...searchParams.keys()].find((name) => !OPTIONS.includes(name));
  if (unknown !== undefined)
    return {
      fault: `the address has the option \`${unknown}\`, which is not known`,
      hint: `known are ${OPTIONS.map((name) => `\`${name}\``).join(', ')}`,
    };
  const ca = searchParams.get('ssl-ca') ?? undefined;
  const tls = (
    searchParams.get('ssl-mode') ?? (ca === undefined ? 'disabled' : 'verify_ca')
  ).toLowerCase();
  if (!isTlsMode(tls))
    return {
      fault: '`ssl-mode` of the address is not known',
      hint: `it is one of ${TLS_MODES.map((name) => `\`${name}\``).join(', ')}`,
    };
  const database = percentDecoded(pathname.slice(1));
  return {
    host: percentDecoded(hostname.replace(/^\[(.*)\]$/, '$1')) || 'localhost',
    port: port === '' ? PORT : Number(port),
    user: percentDecoded(username),
    password: percentDecoded(password),
    database: database === '' ? undefined : database,
    socket: searchParams.get('socket') ?? undefined,
    tls,
    ca,
  };
}

function isTlsMode(text: string): text is TlsMode {
  return TLS_MODES.includes(text);
}

/** A name as MySQL reads it literally, whatever its SQL mode. */
export function backticked(name: string): string {
  return `\`${name.replaceAll('`', '``')}\``;
}
