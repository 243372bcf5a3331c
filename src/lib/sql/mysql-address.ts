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
  /** Paths of the certificate of the client and of its key. */
  readonly cert: string | undefined;
  readonly key: string | undefined;
}

const OPTIONS = ['ssl-mode', 'ssl-ca', 'ssl-cert', 'ssl-key', 'socket', 'charset'] as const;
type Option = (typeof OPTIONS)[number];

/** Other clients write some of them without the dash, or with another line. */
const SPELLED = new Map(OPTIONS.map((name) => [name.replace('-', ''), name]));

function optionOf(written: string): Option | undefined {
  return SPELLED.get(written.toLowerCase().replace(/[-_]/, ''));
}

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
  const options = new Map<Option, string>();
  for (const [written, value] of searchParams) {
    const name = optionOf(written);
    if (name === undefined)
      return {
        fault: `the address has the option \`${written}\`, which is not known`,
        hint: `known are ${OPTIONS.map((one) => `\`${one}\``).join(', ')}`,
      };
    options.set(name, value);
  }
  const charset = options.get('charset') ?? 'utf8mb4';
  if (!/^utf-?8(?:mb[34])?$/i.test(charset))
    return {
      fault: `the address has the \`charset\` \`${charset}\`, and texts are always sent as utf8mb4`,
      hint: 'leave it out: the server converts to the character set of each column',
    };
  if (options.has('ssl-cert') !== options.has('ssl-key'))
    return { fault: '`ssl-cert` and `ssl-key` of the address need each other' };
  const ca = options.get('ssl-ca');
  const cert = options.get('ssl-cert');
  const byDefault = ca === undefined ? (cert === undefined ? 'disabled' : 'required') : 'verify_ca';
  const tls = (options.get('ssl-mode') ?? byDefault).toLowerCase().replaceAll('-', '_');
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
    socket: options.get('socket'),
    tls,
    ca,
    cert,
    key: options.get('ssl-key'),
  };
}

function isTlsMode(text: string): text is TlsMode {
  return TLS_MODES.includes(text);
}

/** A name as MySQL reads it literally, whatever its SQL mode. */
export function backticked(name: string): string {
  return `\`${name.replaceAll('`', '``')}\``;
}
