/** What `init --from` names: a file, an address of the web, or a database. */
import { existsSync, statSync } from 'node:fs';
import path from 'node:path';
import { AppError } from '../../lib/errors.ts';
import { isSecretKey } from '../../lib/http/redact-uri.ts';
import type { JsonObject } from '../../lib/text/json.ts';
import { firstBytes } from './read-sample.ts';

/** The variable that holds an address with its password; documents name it instead. */
export const FROM_VARIABLE = 'HEADGATE_FROM_URL';
export const TO_VARIABLE = 'HEADGATE_TO_URL';

export interface SecretParam {
  readonly variable: string;
  /** As it stands in the address, percent-encoded. */
  readonly encoded: string;
}

export type Origin =
  /** Of the source `type`; `variable` is the value of `FROM_VARIABLE`. */
  | {
      readonly kind: 'database';
      readonly type: string;
      readonly config: JsonObject;
      readonly variable?: string;
    }
  /** `written`: with `${env:…}` instead of what is secret in its query. */
  | {
      readonly kind: 'url';
      readonly url: string;
      readonly written: string;
      readonly secrets: readonly SecretParam[];
    }
  /** A file whose format the source `file` knows by itself. */
  | { readonly kind: 'typed_file'; readonly path: string; readonly format: string }
  | { readonly kind: 'text'; readonly path: string };

const DATABASES: Readonly<Record<string, (url: string) => { type: string; config: JsonObject }>> = {
  postgres: () => ({ type: 'postgres', config: { connection_url: fromVariable } }),
  postgresql: () => ({ type: 'postgres', config: { connection_url: fromVariable } }),
  mysql: () => ({ type: 'mysql', config: { connection_url: fromVariable } }),
  mariadb: () => ({ type: 'mysql', config: { connection_url: fromVariable } }),
  mongodb: mongodb,
  'mongodb+srv': mongodb,
};
const fromVariable = `\${env:${FROM_VARIABLE}}`;

function mongodb(url: string): { type: string; config: JsonObject } {
  const database = /^[^/]+\/\/[^/]+\/([^?]+)/.exec(url)?.[1];
  if (database === undefined)
    throw new AppError('bad_option', '--from: the address names no database', {
      hint: 'write `mongodb://user:password@host:27017/DATABASE`',
    });
  return { type: 'mongodb', config: { connection_uri: fromVariable, database } };
}

/** Relative paths start at `cwd`, and stay as they are written. */
export async function originOf(from: string, cwd: string): Promise<Origin> {
  const scheme = /^([a-z][a-z0-9+]*):\/\//i.exec(from)?.[1]?.toLowerCase();
  if (scheme === 'http' || scheme === 'https') return webOrigin(from);
  const database = scheme === undefined ? undefined : DATABASES[scheme];
  if (database !== undefined) return { kind: 'database', ...database(from), variable: from };
  if (scheme !== undefined && scheme !== 'sqlite' && scheme !== 'file')
    throw new AppError('bad_option', `--from cannot start from an address of ${scheme}`, {
      hint: `name a file, an http(s) address, a SQLite file, or an address of ${Object.keys(DATABASES).join(', ')}; for other systems begin with \`headgate init --source TYPE\``,
    });
  return fileOrigin(from.replace(/^(?:sqlite|file):(?:\/\/)?/i, ''), cwd);
}

function webOrigin(url: string): Origin {
  const { username, password } = URL.canParse(url) ? new URL(url) : { username: '', password: '' };
  if (username === '' && password === '') return { kind: 'url', url, ...withoutSecrets(url) };
  throw new AppError('bad_option', '--from: an address of the web cannot hold a login', {
    hint: 'begin with `headgate init --source rest`, and give the login as its `auth`',
  });
}

/** Parameters whose name says that they are secret, or keys: `?key=…` is one more often than not. */
function withoutSecrets(url: string): Pick<Origin & { kind: 'url' }, 'written' | 'secrets'> {
  const secrets: SecretParam[] = [];
  const written = url.replaceAll(
    /([?&])([^=&#]+)=([^&#]+)/g,
    (pair, before: string, name: string, encoded: string) => {
      if (!isSecretKey(name) && !/key$/i.test(name)) return pair;
      const variable = `HEADGATE_FROM_${name.toUpperCase().replaceAll(/[^A-Z0-9]+/g, '_')}`;
      secrets.push({ variable, encoded });
      return `${before}${name}=\${env:${variable}}`;
    },
  );
  return { written, secrets };
}

/** How files begin. */
const MAGIC = [
  ['sqlite', 'SQLite format 3'],
  ['parquet', 'PAR1'],
  ['avro', 'Obj\u0001'],
  ['xlsx', 'PK\u0003\u0004'],
] as const;
const DUCKDB_AT = 8;

async function fileOrigin(file: string, cwd: string): Promise<Origin> {
  const absolute = path.resolve(cwd, file);
  if (!existsSync(absolute))
    throw new AppError('file_unreadable', `${file} cannot be read: it does not exist`, {
      hint: 'name a file, an http(s) address, or an address such as `postgres://user@host/database`',
    });
  if (!statSync(absolute).isFile())
    throw new AppError('file_unreadable', `${file} is no file`, {
      hint: 'name one of the files in it; `headgate init --source file` reads a whole folder',
    });
  const begin = (await firstBytes(absolute)).toString('latin1');
  const [format] = MAGIC.find(([, magic]) => begin.startsWith(magic)) ?? [];
  if (format === 'sqlite')
    return { kind: 'database', type: 'sqlite', config: { database_url: `sqlite:${file}` } };
  if (begin.startsWith('DUCK', DUCKDB_AT))
    return { kind: 'database', type: 'duckdb', config: { database: file, read_only: true } };
  if (format !== undefined) return { kind: 'typed_file', path: file, format };
  if (/\.xml(?:\.gz|\.zst)?$/i.test(file)) return { kind: 'typed_file', path: file, format: 'xml' };
  return { kind: 'text', path: file };
}
