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
  return KINDS[name.toLowerCase().replace(/\+.*$/, '')];
}

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

/** The path in an address of a file of SQLite or DuckDB. */
export function filePathOf(address: string): string {
  return address.replace(/^(?:sqlite|duckdb|file):(?:\/\/)?/i, '').replace(/\?.*$/, '');
}
