/**
 * Pipelines of dlt: its working folder (`~/.dlt/pipelines/NAME`) has `state.json` and the schemas of
 * what it loaded. The source itself is a program, so its address is asked for.
 */
import { AppError } from '../../lib/errors.ts';
import { isObject, type JsonObject, type JsonValue } from '../../lib/text/json.ts';
import { addressShape, filePathOf, kindOf } from './address.ts';
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
  const source = systemOf(from, FROM, 'the source of a pipeline of dlt is a program', '--from');
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
  const variables = {
    ...(source.kind === 'sqlite' || source.kind === 'duckdb'
      ? {}
      : { [FROM]: addressShape(source.kind, {}) }),
    ...(destination.address === `\${env:${TO}}`
      ? { [TO]: addressShape(destination.kind, { database: state['dataset_name'] ?? null }) }
      : {}),
  };
  return [{ name, from: source, to: destination, streams, cron: undefined, notes, variables }];
}

function systemOf(
  address: string | undefined,
  variable: string,
  why: string,
  option: string,
): ImportedSystem {
  const scheme = /^([a-z][\w+]*):/i.exec(address ?? '')?.[1];
  const kind = kindOf(scheme ?? '');
  if (address === undefined || kind === undefined || kind === 'files')
    throw new AppError('bad_import', why, {
      hint: `say what it reads with \`${option}\`: the address of a database, such as \`postgres://HOST/DATABASE\` or \`sqlite:shop.db\``,
    });
  if (kind === 'sqlite' || kind === 'duckdb') return { kind, address: filePathOf(address) };
  return { kind, address: `\${env:${variable}}` };
}

function destinationOf(state: JsonObject, to: string | undefined): ImportedSystem {
  if (to !== undefined) return systemOf(to, TO, `\`${to}\` is no address of a database`, '--to');
  const type = textOf(state['destination_type'] ?? state['destination_name']);
  const name = type.replace(/^dlt\.destinations\./, '');
  const kind = kindOf(name);
  if (kind === 'files' || kind === undefined)
    throw new AppError('bad_import', `there is no counterpart of the destination \`${name}\``, {
      hint: 'say where records go with `--to`: the address of a database, such as `postgres://HOST/DATABASE` or `sqlite:shop.db`',
    });
  if (kind === 'duckdb' || kind === 'sqlite')
    return { kind, address: `${textOf(state['pipeline_name'], 'pipeline')}.${kind}` };
  return { kind, address: `\${env:${TO}}` };
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
  const cursor = disposition === 'replace' ? undefined : cursorOf(state, resource);
  const merges = disposition === 'merge' && key.length > 0;
  return {
    name,
    reads: { table: resource },
    writes: to.kind === 'files' ? `output/${name}.jsonl` : name,
    mode: disposition === 'replace' ? 'overwrite' : merges ? 'upsert' : 'append',
    key,
    cursor,
  };
}

/** `sources.SOURCE.resources.RESOURCE.incremental.COLUMN.last_value`. */
function cursorOf(state: JsonObject, resource: string): Cursor | undefined {
  for (const source of Object.values(mappingAt(state, 'sources'))) {
    const [found] = Object.entries(mappingAt(source, 'resources', resource, 'incremental'));
    if (found === undefined) continue;
    const value = mappingAt(found[1])['last_value'];
    if (typeof value === 'string') return { column: found[0], value: value.replace(TYPE_MARK, '') };
    return { column: found[0], value: typeof value === 'number' ? value : undefined };
  }
  return undefined;
}
