/**
 * Pipelines of dlt: its working folder (`~/.dlt/pipelines/NAME`) has `state.json` and the schemas of
 * what it loaded. The source itself is a program, so its address is asked for.
 */
import { withEscapes } from '../../document/tokens/tokens.ts';
import { AppError } from '../../lib/errors.ts';
import { isObject, type JsonObject, type JsonValue } from '../../lib/text/json.ts';
import {
  addressShape,
  databaseOf,
  filePathOf,
  isMotherduck,
  kindOf,
  schemeOf,
  shapeOfAddress,
} from './address.ts';
import { mappingAt, textOf } from './foreign-values.ts';
import type { Cursor, ImportedMove, ImportedStream, ImportedSystem } from './imported-move.ts';

export interface DltInput {
  readonly state: JsonObject;
  /** By name, as in `schemas/NAME.schema.json`. */
  readonly schemas: readonly JsonObject[];
  /** What the program reads: the address of a database. */
  readonly from: string | undefined;
  /** Path of the file of the destination, where that is a file. */
  readonly to: string | undefined;
}

/** dlt writes the type of a value as a letter of the private use area before it. */
const TYPE_MARK = /^[\uF026-\uF0FF]/;

const FROM = 'SOURCE_URL';
const TO = 'DESTINATION_URL';

export function importDlt({ state, schemas, from, to }: DltInput): readonly ImportedMove[] {
  const name = textOf(state['pipeline_name'], 'pipeline');
  const source = systemOf(from, FROM, {
    why: 'the source of a pipeline of dlt is a program',
    option: '--from',
  });
  const destination = destinationOf(state, to);
  const notes: string[] = [];
  const streams = schemas.flatMap((schema) =>
    Object.entries(mappingAt(schema, 'tables'))
      .filter(([table, one]) => isLoaded(table, one))
      .map(([table, one]) => streamOf(table, mappingAt(one), { state, to: destination })),
  );
  const nested = schemas.flatMap((schema) =>
    Object.entries(mappingAt(schema, 'tables')).filter(([, one]) => isNested(one)),
  );
  for (const [table] of nested)
    notes.push(`${table} held lists of its parent: \`explode\` makes records of them`);
  if (destination.kind === 'postgres' && streams.some(({ writes }) => 'table' in writes))
    notes.push(
      'dlt made its columns `_dlt_id` and `_dlt_load_id` required, and nothing fills them now: `ALTER TABLE … ALTER COLUMN _dlt_id DROP NOT NULL` for both, or write into other tables',
    );
  return [{ name, from: source, to: destination, streams, cron: undefined, notes }];
}

function systemOf(
  address: string | undefined,
  variable: string,
  { why, option }: { readonly why: string; readonly option: string },
): ImportedSystem {
  const kind = kindOf(schemeOf(address ?? '') ?? '');
  if (address === undefined || kind === undefined || kind === 'files' || isMotherduck(address))
    throw new AppError('bad_import', why, {
      hint: `say which database is meant with \`${option}\`: the address of a database, such as \`postgres://HOST/DATABASE\` or \`sqlite:shop.db\``,
    });
  if (kind === 'sqlite' || kind === 'duckdb')
    return { kind, address: withEscapes(filePathOf(address)) };
  const database = databaseOf(address);
  return {
    kind,
    address: `\${env:${variable}}`,
    ...databaseNamed(kind, variable, database),
    variables: variablesOf(variable, shapeOfAddress(kind, address)),
  };
}

/** MongoDB is told its database apart from the address. */
function databaseNamed(
  kind: ImportedSystem['kind'],
  variable: string,
  database: string | undefined,
): Pick<ImportedSystem, 'database'> {
  if (database !== undefined) return { database: withEscapes(database) };
  return kind === 'mongodb' ? { database: `\${env:${variable}_DATABASE}` } : {};
}

function variablesOf(variable: string, shape: string): Readonly<Record<string, string>> {
  return { [variable]: shape, [`${variable}_DATABASE`]: 'the name of the database' };
}

/** Undefined where we have no connector for it. */
function ownKind(state: JsonObject): ImportedSystem['kind'] | undefined {
  const type = textOf(state['destination_type'] ?? state['destination_name']);
  return kindOf(type.replace(/^dlt\.destinations\./, ''));
}

function destinationOf(state: JsonObject, to: string | undefined): ImportedSystem {
  if (to !== undefined)
    return systemOf(to, TO, {
      why: 'what `--to` names is no database that can be written',
      option: '--to',
    });
  const kind = ownKind(state);
  const name = textOf(state['destination_type'] ?? state['destination_name']);
  if (kind === 'files' || kind === undefined)
    throw new AppError('bad_import', `there is no counterpart of the destination \`${name}\``, {
      hint: 'say where records go with `--to`: the address of a database, such as `postgres://HOST/DATABASE` or `sqlite:shop.db`',
    });
  if (kind === 'duckdb' || kind === 'sqlite')
    return { kind, address: withEscapes(`${textOf(state['pipeline_name'], 'pipeline')}.${kind}`) };
  return {
    kind,
    address: `\${env:${TO}}`,
    ...databaseNamed(kind, TO, undefined),
    variables: variablesOf(TO, addressShape(kind, {})),
  };
}

/** Tables of its own begin with `_dlt`. */
function isLoaded(name: string, table: JsonValue): boolean {
  return !name.startsWith('_dlt') && isObject(table) && !isNested(table);
}

function isNested(table: unknown): boolean {
  return mappingAt(table)['parent'] !== undefined;
}

function streamOf(
  name: string,
  table: JsonObject,
  { state, to }: { state: JsonObject; to: ImportedSystem },
): ImportedStream {
  const columns = Object.entries(mappingAt(table, 'columns'));
  const key = columns
    .filter(([, column]) => mappingAt(column)['primary_key'] === true)
    .map(([column]) => column);
  const disposition = table['write_disposition'];
  const resource = typeof table['resource'] === 'string' ? table['resource'] : name;
  const cursor = disposition === 'replace' ? undefined : cursorOf(state, resource, table);
  const merges = disposition === 'merge' && key.length > 0;
  return {
    name,
    reads: { table: [resource] },
    writes: { table: withEscapes(name), schema: datasetOf(state) },
    mode: disposition === 'replace' ? 'overwrite' : merges ? 'upsert' : 'append',
    key,
    cursor,
    elsewhere:
      to.kind === ownKind(state)
        ? undefined
        : 'dlt wrote into another destination than the one that `--to` names',
  };
}

/** The schema of all tables: dlt writes its name in snake case. */
function datasetOf(state: JsonObject): string | undefined {
  const name = textOf(state['dataset_name']);
  if (name === '') return undefined;
  return name
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1_$2')
    .replaceAll(/\W+/g, '_')
    .toLowerCase();
}

/** `sources.SOURCE.resources.RESOURCE.incremental.COLUMN.last_value`. */
function cursorOf(state: JsonObject, resource: string, table: JsonObject): Cursor | undefined {
  for (const source of Object.values(mappingAt(state, 'sources'))) {
    const [found] = Object.entries(mappingAt(source, 'resources', resource, 'incremental'));
    if (found === undefined) continue;
    const [column, stored] = found;
    const value = mappingAt(stored)['last_value'];
    const type = textOf(mappingAt(table, 'columns', column)['data_type']);
    const isNumber = ['bigint', 'double', 'decimal', 'wei'].includes(type);
    if (typeof value === 'string') return { column, value: value.replace(TYPE_MARK, ''), isNumber };
    const isKnown = typeof value === 'number' || typeof value === 'bigint';
    return { column, value: isKnown ? value : undefined, isNumber: isNumber || isKnown };
  }
  return undefined;
}
