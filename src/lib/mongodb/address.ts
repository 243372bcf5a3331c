/** Addresses of MongoDB: `mongodb://user:password@host:port,…/?option=value`, or `mongodb+srv://…`. */
import { percentDecoded } from '../text/percent-decoded.ts';

const FORM =
  /^(?<scheme>mongodb(?:\+srv)?):\/\/(?:(?<user>[^:/?@]*)(?::(?<password>[^@]*))?@)?(?<hosts>(?!:)[^/?@]+)(?:\/[^?]*)?(?:\?(?<options>.*))?$/is;
const PORT = 27017;

export interface MongoAddress {
  readonly scheme: string;
  /** Each with its port, except where the name of a service finds them. */
  readonly hosts: readonly string[];
  /** What nobody may see, as it is written and as it is meant. */
  readonly secrets: readonly string[];
  /** By their names in lower case. */
  readonly options: ReadonlyMap<string, string>;
}

/** `undefined` for a text that is none. */
export function parseMongoAddress(uri: string): MongoAddress | undefined {
  const parts = FORM.exec(uri)?.groups;
  if (parts === undefined) return undefined;
  const { scheme = '', hosts = '', password = '', options = '' } = parts;
  const isService = scheme.toLowerCase() === 'mongodb+srv';
  const withPort = (host: string): string =>
    isService || /:\d+$/.test(host) || host.endsWith('.sock') ? host : `${host}:${PORT}`;
  const read = new Map(
    [...new URLSearchParams(options)].map(([name, value]) => [name.toLowerCase(), value]),
  );
  return {
    scheme: scheme.toLowerCase(),
    hosts: hosts.split(',').map((host) => withPort(host.toLowerCase())),
    secrets: [password, percentDecoded(password), ...secretOptions(read)].filter(Boolean),
    options: read,
  };
}

/** Some logins need more than a password (`AWS_SESSION_TOKEN`). */
function secretOptions(options: ReadonlyMap<string, string>): string[] {
  const properties = options.get('authmechanismproperties') ?? '';
  const token = /AWS_SESSION_TOKEN:([^,]*)/i.exec(properties)?.[1] ?? '';
  return [token, options.get('tlscertificatekeyfilepassword') ?? ''];
}

/** `mongodb://host:port/db/collection`, without login and options. */
export function mongoUri(uri: string, ...path: readonly string[]): string {
  const address = parseMongoAddress(uri);
  if (address === undefined) return 'unknown://unknown';
  return [`${address.scheme}://${address.hosts.join(',')}`, ...path].join('/');
}

/** The same text whatever the order of the hosts. */
export function mongoPlace(uri: string, ...path: readonly string[]): string {
  const address = parseMongoAddress(uri);
  if (address === undefined) return 'unknown://unknown';
  return [`${address.scheme}://${address.hosts.toSorted().join(',')}`, ...path].join('/');
}
