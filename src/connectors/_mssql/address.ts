/**
 * Addresses of SQL Server: `mssql://user:password@host:port/database?option=value`, or a connection
 * string of ADO.NET (`Server=host,port;Database=…;User ID=…;Password=…`).
 */
import { percentDecoded } from '../../lib/text/percent-decoded.ts';

export const PORT = 1433;

export type TlsType = 'prefer' | 'require' | 'trust_server_certificate' | 'disable' | 'strict';

/** A login that the server knows, or one of Microsoft Entra. */
export type Login =
  | { readonly type: 'password'; readonly user: string; readonly password: string }
  | { readonly type: 'entra_default' }
  | { readonly type: 'entra_identity'; readonly clientId?: string };

export interface MssqlAddress {
  readonly host: string;
  /** Absent where an instance is named. */
  readonly port: number | undefined;
  readonly instance: string | undefined;
  readonly database: string | undefined;
  readonly login: Login;
  /** What the address says of TLS. */
  readonly tls: TlsType | undefined;
  readonly application: string | undefined;
  readonly connectSecs: number | undefined;
}

export interface AddressFault {
  readonly fault: string;
  readonly hint?: string;
}

type Parsed = MssqlAddress | AddressFault;
type Options = Map<Option, string>;

const OPTIONS = {
  authentication: ['authentication'],
  encrypt: ['encrypt', 'encryption'],
  trust: ['trustservercertificate'],
  application: ['applicationname', 'app'],
  timeout: ['connectiontimeout', 'connecttimeout', 'timeout'],
  server: ['server', 'datasource', 'address', 'addr', 'networkaddress'],
  database: ['database', 'initialcatalog'],
  user: ['userid', 'uid', 'user', 'username'],
  password: ['password', 'pwd'],
  windows: ['integratedsecurity', 'trustedconnection'],
  // They are about pools and about keeping the text, and change nothing for one connection.
  none: [
    'persistsecurityinfo',
    'multipleactiveresultsets',
    'pooling',
    'minpoolsize',
    'maxpoolsize',
    'multisubnetfailover',
  ],
} as const;
type Option = keyof typeof OPTIONS;

const IN_ADDRESS: readonly Option[] = [
  'authentication',
  'encrypt',
  'trust',
  'application',
  'timeout',
];

function optionOf(written: string): Option | undefined {
  const plain = written.toLowerCase().replaceAll(/[\s_-]/g, '');
  return (Object.keys(OPTIONS) as Option[]).find((name) =>
    (OPTIONS[name] as readonly string[]).includes(plain),
  );
}

export function parseMssqlUrl(url: string): Parsed {
  if (!URL.canParse(url) || !/^(?:mssql|sqlserver):\/\//i.test(url))
    return {
      fault:
        'this is not an address of SQL Server; write `mssql://user:password@host:port/database`, with special letters percent-encoded',
    };
  const { hostname, port, username, password, pathname, searchParams } = new URL(url);
  const options: Options = new Map();
  for (const [written, value] of searchParams) {
    const name = optionOf(written);
    if (name === undefined || !IN_ADDRESS.includes(name)) return unknownOption(written, IN_ADDRESS);
    options.set(name, value);
  }
  const database = percentDecoded(pathname.slice(1));
  options.set('user', percentDecoded(username));
  options.set('password', percentDecoded(password));
  return addressOf(options, {
    host: percentDecoded(hostname.replace(/^\[(.*)\]$/, '$1')) || 'localhost',
    port: port === '' ? PORT : Number(port),
    instance: undefined,
    database: database === '' ? undefined : database,
  });
}

export function parseMssqlString(text: string): Parsed {
  const options: Options = new Map();
  for (const [written, value] of pairsOf(text)) {
    const name = optionOf(written);
    if (name === undefined)
      return unknownOption(written, ['server', 'database', 'user', 'password', ...IN_ADDRESS]);
    options.set(name, value);
  }
  const server = options.get('server');
  if (server === undefined)
    return {
      fault: 'the connection string names no server',
      hint: 'write `Server=host,1433;Database=…;User ID=…;Password=…`',
    };
  if (isYes(options.get('windows')) || /^sspi$/i.test(options.get('windows') ?? ''))
    return {
      fault: 'logins of Windows (`Integrated Security`) are not possible from here',
      hint: 'give `User ID` and `Password`, or `Authentication` of Microsoft Entra',
    };
  const [, host = '', instance, port] =
    /^(?:tcp:)?([^,\\]*)(?:\\([^,]+))?(?:,\s*(\d+))?$/i.exec(server.trim()) ?? [];
  if (host === '' && instance === undefined)
    return {
      fault: 'the server of the connection string is not `host`, `host,port` or `host\\instance`',
    };
  const isNamed = instance !== undefined && port === undefined;
  return addressOf(options, {
    host: /^(?:\.|\(local\)|)$/i.test(host) ? 'localhost' : host,
    port: isNamed ? undefined : Number(port ?? PORT),
    instance: isNamed ? instance : undefined,
    database: options.get('database'),
  });
}

const PAIR =
  /\s*([^=;]+?)\s*=\s*(?:"((?:[^"]|"")*)"|'((?:[^']|'')*)'|((?:[^;"'][^;]*)?))\s*(?:;|$)/gy;

function pairsOf(text: string): [name: string, value: string][] {
  return [...text.matchAll(PAIR)].map(([, name = '', double, single, plain]) => [
    name,
    double?.replaceAll('""', '"') ?? single?.replaceAll("''", "'") ?? (plain ?? '').trim(),
  ]);
}

function addressOf(
  options: Options,
  place: Pick<MssqlAddress, 'host' | 'port' | 'instance' | 'database'>,
): Parsed {
  const login = loginOf(options);
  if ('fault' in login) return login;
  const tls = tlsOf(options);
  if (typeof tls === 'object') return tls;
  const secs = options.get('timeout');
  if (secs !== undefined && !/^\d{1,4}$/.test(secs))
    return { fault: 'the timeout of the address is not a number of seconds' };
  return {
    ...place,
    login,
    tls,
    application: options.get('application'),
    connectSecs: secs === undefined ? undefined : Number(secs),
  };
}

function loginOf(options: Options): Login | AddressFault {
  const written = options.get('authentication') ?? 'SqlPassword';
  const user = options.get('user') ?? '';
  const password = options.get('password') ?? '';
  switch (written.toLowerCase().replaceAll(/[\s_-]/g, '')) {
    case 'sqlpassword':
      return { type: 'password', user, password };
    case 'activedirectorydefault':
      return { type: 'entra_default' };
    case 'activedirectorymsi':
    case 'activedirectorymanagedidentity':
      return { type: 'entra_identity', ...(user === '' ? {} : { clientId: user }) };
    default:
      return {
        fault: `\`Authentication\` \`${written}\` is not possible here`,
        hint: 'it is `SqlPassword`, `Active Directory Default` (which takes a service principal from AZURE_TENANT_ID, AZURE_CLIENT_ID and AZURE_CLIENT_SECRET) or `Active Directory Managed Identity`',
      };
  }
}

function tlsOf(options: Options): TlsType | undefined | AddressFault {
  const encrypt = options.get('encrypt')?.toLowerCase();
  const trusts = isYes(options.get('trust'));
  switch (encrypt) {
    case undefined:
      return trusts ? 'trust_server_certificate' : undefined;
    case 'strict':
      return 'strict';
    case 'true':
    case 'yes':
    case 'mandatory':
      return trusts ? 'trust_server_certificate' : 'require';
    case 'false':
    case 'no':
    case 'optional':
      return 'prefer';
    case 'disable':
      return 'disable';
    default:
      return {
        fault: '`encrypt` of the address is not known',
        hint: 'it is `true`, `false`, `strict` or `disable`',
      };
  }
}

function isYes(value: string | undefined): boolean {
  return /^(?:true|yes|1)$/i.test(value ?? '');
}

function unknownOption(written: string, known: readonly Option[]): AddressFault {
  return {
    fault: `the address has the option \`${written}\`, which is not known`,
    hint: `known are ${known.map((name) => `\`${OPTIONS[name][0]}\``).join(', ')}`,
  };
}
