/** Addresses of databases from the settings of other tools. Passwords are named, never written. */
import type { JsonObject } from '../../lib/text/json.ts';
import { textOf } from './foreign-values.ts';
import type { ImportedSystem } from './imported-move.ts';

type Kind = ImportedSystem['kind'];

const KINDS: Readonly<Record<string, Kind>> = {
  postgres: 'postgres',
  postgresql: 'postgres',
  mysql: 'mysql',
  mariadb: 'mysql',
  mongodb: 'mongodb',
  sqlite: 'sqlite',
  sqlite3: 'sqlite',
  duckdb: 'duckdb',
  file: 'files',
  local: 'files',
};

/** Undefined for a system that we have no connector for, or not under this name. */
export function kindOf(name: string): Kind | undefined {
  const plain = name.toLowerCase().replace(/\+.*$/, '');
  return Object.hasOwn(KINDS, plain) ? KINDS[plain] : undefined;
}

/** `mysql` of `mysql://HOST`. */
export function schemeOf(address: string): string | undefined {
  return /^([a-z][\w+]*):/i.exec(address)?.[1];
}

/** The port on which each server listens by itself. */
export const PORTS = { postgres: '5432', mysql: '3306', mongodb: '27017' } as const;

/** `mysql://HOST` in words: which text a variable has to hold. */
export function addressShape(kind: Kind, settings: JsonObject): string {
  const text = (...names: readonly string[]): string | undefined =>
    names.map((name) => settings[name]).find((one) => typeof one === 'string' && one !== '') as
      | string
      | undefined;
  const user = text('user', 'username') ?? 'USER';
  const host = text('host', 'hostname') ?? 'HOST';
  const port = settings['port'] === undefined ? '' : `:${textOf(settings['port'])}`;
  const database = text('database', 'dbname') ?? 'DATABASE';
  return `${kind}://${user}:PASSWORD@${host}${port}/${database}`;
}

/**
 * The same of an address, whose password and options stay out of it. What cannot be told apart is
 * not shown at all: a password may hold `@`, `/`, `?` or `#`.
 */
export function shapeOfAddress(kind: Kind, address: string): string {
  if (!URL.canParse(address)) return addressShape(kind, {});
  const { username, hostname, host, pathname, search, hash } = new URL(address);
  if (hostname === '' || /@|%40/i.test(pathname + search + hash)) return addressShape(kind, {});
  const database = pathname.length > 1 ? pathname : '/DATABASE';
  return `${kind}://${username === '' ? 'USER' : username}:PASSWORD@${host}${database}`;
}

/** The name of the database in an address of a server. */
export function databaseOf(address: string): string | undefined {
  return /^[a-z][\w+]*:\/\/[^/?]+\/([^/?#]+)/i.exec(address)?.[1];
}

/** The path in an address of a file of SQLite or DuckDB; its options may hold a login. */
export function filePathOf(address: string): string {
  return address.replace(/^(?:sqlite|duckdb|file):(?:\/\/)?/i, '').replace(/\?.*$/s, '');
}

/** Databases of a service, which `duckdb` opens by the same names as files. */
export function isMotherduck(address: string): boolean {
  return /^(?:duckdb:(?:\/\/)?)?(?:md|motherduck):/i.test(address);
}
