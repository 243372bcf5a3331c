/** Taps and targets of Meltano as systems of ours. */
import { withEscapes } from '../../document/tokens/tokens.ts';
import type { JsonObject } from '../../lib/text/json.ts';
import { filePathOf, isMotherduck, kindOf, PORTS } from './address.ts';
import { mappingAt, textOf } from './foreign-values.ts';
import type { FileFormat, ImportedSystem } from './imported-move.ts';

export interface Plugin {
  readonly name: string;
  /** What it inherits from in the end: `tap-postgres`. */
  readonly base: string;
  readonly settings: JsonObject;
}

export function extractorOf(plugin: Plugin): ImportedSystem | undefined {
  return kindName(plugin) === 'csv' ? { kind: 'files', address: '' } : serverOf(plugin);
}

export function loaderOf(plugin: Plugin): ImportedSystem | undefined {
  return fileFormatOf(plugin) === undefined ? serverOf(plugin) : { kind: 'files', address: '' };
}

/** Of targets that write files. */
export function fileFormatOf(plugin: Plugin): FileFormat | undefined {
  return (['jsonl', 'csv', 'parquet'] as const).find((one) => one === kindName(plugin));
}

/** `$NAME` and `${NAME}` of Meltano are variables of the environment. */
export function withVariables(text: string): string {
  return text
    .split(/(\$\{[A-Za-z_]\w*\}|\$[A-Z_][A-Z0-9_]*)/)
    .map((piece, at) =>
      at % 2 === 0 ? withEscapes(piece) : `\${env:${piece.replaceAll(/[${}]/g, '')}}`,
    )
    .join('');
}

/** Addresses come from the variables that Meltano reads for the same settings. */
function serverOf(plugin: Plugin): ImportedSystem | undefined {
  const kind = kindOf(kindName(plugin));
  const config = mappingAt(plugin.settings, 'config');
  if (kind === undefined || kind === 'files') return undefined;
  if (kind === 'sqlite' || kind === 'duckdb') {
    const file = textOf(
      config['database'] ?? config['path_to_db'] ?? config['filepath'] ?? config['path'],
    );
    if (isMotherduck(file)) return undefined;
    return { kind, address: withVariables(filePathOf(file)) };
  }
  const variable = (field: string): string =>
    `${plugin.name.replaceAll('-', '_')}_${field}`.toUpperCase();
  if (config['sqlalchemy_url'] !== undefined) {
    const name = variable('sqlalchemy_url');
    return {
      kind,
      address: `\${env:${name}}`,
      ...(kind === 'mongodb' ? { database: `\${env:${variable('database')}}` } : {}),
      variables: { [name]: `${kind}://USER:PASSWORD@HOST/DATABASE` },
    };
  }
  const part = (field: string, fallback?: string): string => {
    const value = config[field];
    if (value != null && field !== 'password') return inAddress(textOf(value), field);
    return fallback ?? `\${env:${variable(field)}}`;
  };
  const database =
    config['database'] === undefined && config['dbname'] !== undefined
      ? part('dbname')
      : part('database');
  return {
    kind,
    address: `${kind}://${part('user')}:${part('password')}@${part('host', 'localhost')}:${part('port', PORTS[kind])}/${database}`,
    database,
    variables: Object.fromEntries(
      ['password', 'user', 'database', 'host', 'port'].map((field) => [
        variable(field),
        `the ${field} of ${plugin.name}, with special letters percent-encoded`,
      ]),
    ),
  };
}

/** Without a variable it may hold what separates the parts of an address. */
function inAddress(value: string, field: string): string {
  if (field === 'host' || value.includes('$')) return withVariables(value);
  return encodeURIComponent(value);
}

/** `postgres` of `tap-postgres`. */
function kindName({ base }: Plugin): string {
  return base.replace(/^(?:tap|target)-/, '');
}
