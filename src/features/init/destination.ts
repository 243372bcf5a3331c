/** What `init --to` names. */
import { AppError } from '../../lib/errors.ts';
import type { JsonObject } from '../../lib/text/json.ts';
import { TO_VARIABLE } from './origin.ts';

export interface Destination {
  readonly type: string;
  readonly config: JsonObject;
  /** The value of `TO_VARIABLE`, which the config names. */
  readonly variable?: string;
  /** What a second run does to the records of the first, where that may surprise. */
  readonly advice?: string;
}

interface Wanted {
  readonly name: string;
  readonly key: readonly string[];
}

const TO_FORMS =
  'a file (.jsonl, .csv, .parquet, .db, .duckdb), an address such as `postgres://user:password@host/database`, or `stdout`';

export function destinationOf(to: string | undefined, wanted: Wanted): Destination {
  if (to === undefined) return { type: 'jsonl', config: { path: `${wanted.name}-out.jsonl` } };
  if (to === 'stdout' || to === '-') return { type: 'stdout', config: {} };
  const scheme = /^([a-z][a-z0-9+]*):\/\//i.exec(to)?.[1]?.toLowerCase();
  const url = `\${env:${TO_VARIABLE}}`;
  switch (scheme) {
    case 'postgres':
    case 'postgresql':
      return { ...tableOf('postgres', { connection_url: url }, wanted), variable: to };
    case 'mysql':
    case 'mariadb':
      return { ...tableOf('mysql', { connection_url: url }, wanted), variable: to };
    case undefined:
    case 'sqlite':
    case 'file':
      return fileDestination(to.replace(/^(?:sqlite|file):(?:\/\/)?/i, ''), wanted, scheme);
    default:
      throw new AppError('bad_option', `--to cannot be an address of ${scheme}`, {
        hint: `it can be ${TO_FORMS}; for other systems begin with \`headgate init --sink TYPE\``,
      });
  }
}

function fileDestination(path: string, wanted: Wanted, scheme: string | undefined): Destination {
  const extension = /\.([a-z0-9]+)(?:\.(?:gz|zst))?$/i.exec(path)?.[1]?.toLowerCase();
  if (scheme === 'sqlite' || ['db', 'sqlite', 'sqlite3'].includes(extension ?? ''))
    return tableOf('sqlite', { database_url: `sqlite:${path}?mode=rwc` }, wanted);
  if (extension === 'duckdb') return tableOf('duckdb', { database: path }, wanted);
  if (extension === 'csv' || extension === 'jsonl') return { type: extension, config: { path } };
  if (extension === 'ndjson') return { type: 'jsonl', config: { path } };
  if (extension === 'parquet')
    return { type: 'parquet', config: { destination: { type: 'local_path', path } } };
  throw new AppError('bad_option', `--to: it is not clear what to write to ${path}`, {
    hint: `it can be ${TO_FORMS}`,
  });
}

/** With a key a second run replaces the records of the first one. */
function tableOf(type: string, place: JsonObject, { name, key }: Wanted): Destination {
  const table = { ...place, table_name: tableName(name), column_mapping: 'auto_map' };
  if (key.length > 0)
    return {
      type,
      config: { ...table, write_mode: 'upsert', key: [...key] },
      advice: 'A record whose key is there already replaces the one in the table.',
    };
  return {
    type,
    config: { ...table, write_mode: 'append' },
    advice:
      'Every run adds its records, also those that are there already. With a key, `write_mode: upsert` replaces them.',
  };
}

function tableName(name: string): string {
  return name.replaceAll(/\W+/g, '_');
}
