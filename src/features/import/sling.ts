/**
 * Replications of sling: `source`, `target`, `defaults`, `streams`. The fields and modes are those of
 * its documentation (Replications, Modes, Runtime variables).
 */
import path from 'node:path';
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
import { mappingAt, nameParts, textOf } from './foreign-values.ts';
import type {
  Cursor,
  Destination,
  ImportedMove,
  ImportedStream,
  ImportedSystem,
  WriteMode,
} from './imported-move.ts';

export interface SlingInput {
  readonly name: string;
  readonly document: JsonObject;
  /** `connections` of its `env.yaml`, where there is one. */
  readonly connections: JsonObject;
  readonly variables: Readonly<Record<string, string | undefined>>;
}

interface Connection extends ImportedSystem {
  /** Where tables go whose schema is not named. */
  readonly schema?: string;
}

/** Fields of a stream that are carried over, or say nothing about what is moved. */
const KNOWN = [
  'mode',
  'object',
  'primary_key',
  'update_key',
  'sql',
  'select',
  'where',
  'source_options',
  'disabled',
  'id',
  'description',
  'tags',
];

export function isSling(document: JsonObject): boolean {
  return typeof document['source'] === 'string' && isObject(document['streams']);
}

export function importSling({
  name,
  document,
  connections,
  variables,
}: SlingInput): readonly ImportedMove[] {
  const open = (role: 'source' | 'target'): Connection =>
    connectionOf(textOf(document[role]), { connections, variables, role });
  const from = open('source');
  const to = open('target');
  const notes: string[] = [];
  const streams: ImportedStream[] = [];
  for (const [stream, given] of Object.entries(mappingAt(document, 'streams'))) {
    const settings = { ...mappingAt(document, 'defaults'), ...(isObject(given) ? given : {}) };
    if (settings['disabled'] === true) {
      notes.push(`${stream} is disabled`);
      continue;
    }
    const isPattern = stream.includes('*') && from.kind !== 'files' && settings['sql'] == null;
    if (isPattern) {
      notes.push(`${stream} stands for many tables: \`headgate discover\` writes a row for each`);
      continue;
    }
    streams.push(streamOf(stream, settings, { from, to, document }));
    if (settings['mode'] === 'backfill')
      notes.push(`the range of ${stream}: \`headgate backfill --from … --to …\` reads one`);
    notes.push(...leftOut(stream, settings));
  }
  for (const key of ['hooks', 'env'])
    if (document[key] !== undefined) notes.push(`\`${key}\` of the replication`);
  return [{ name, from, to, streams, cron: undefined, notes }];
}

function leftOut(stream: string, settings: JsonObject): readonly string[] {
  const unknown = Object.keys(settings).filter((key) => !KNOWN.includes(key));
  const options = Object.keys(mappingAt(settings, 'source_options')).filter(
    (key) => key !== 'delimiter',
  );
  const excluded = listOf(settings['select']).filter((one) => one.startsWith('-'));
  return [
    ...[...unknown, ...options.map((key) => `source_options.${key}`)].map(
      (key) => `\`${key}\` of ${stream}`,
    ),
    ...(excluded.length === 0
      ? []
      : [
          `\`select: ${excluded.join(', ')}\` of ${stream}, so these fields are moved as well: list the others in its \`query\`, or \`drop\` them`,
        ]),
  ];
}

function connectionOf(
  name: string,
  {
    connections,
    variables,
    role,
  }: Pick<SlingInput, 'connections' | 'variables'> & { readonly role: string },
): Connection {
  if (/^(?:local|file:\/\/.*)$/i.test(name)) return { kind: 'files', address: '' };
  const given = connections[name] ?? variables[name];
  const settings: JsonObject = isObject(given) ? given : { url: given ?? null };
  const { url } = settings;
  const type = typeof settings['type'] === 'string' ? settings['type'] : schemeOf(textOf(url));
  const kind = type === undefined ? undefined : kindOf(type);
  if (kind === undefined) throw unknownConnection(name, role, type);
  if (kind === 'files') return { kind, address: '' };
  if (kind === 'sqlite' || kind === 'duckdb') {
    const file = textOf(typeof url === 'string' ? url : settings['instance']);
    if (isMotherduck(file)) throw unknownConnection(name, role, 'MotherDuck');
    return { kind, address: withEscapes(filePathOf(file)) };
  }
  const shape = typeof url === 'string' ? shapeOfAddress(kind, url) : addressShape(kind, settings);
  const database = textOf(settings['database']) || databaseOf(textOf(url));
  const unnamed = `${name}_DATABASE`;
  const { schema } = settings;
  return {
    kind,
    address: `\${env:${name}}`,
    ...(database === undefined
      ? kind === 'mongodb'
        ? { database: `\${env:${unnamed}}` }
        : {}
      : { database: withEscapes(database) }),
    ...(typeof schema === 'string' ? { schema } : {}),
    variables: { [name]: shape, [unnamed]: `the database of ${name}` },
  };
}

function unknownConnection(name: string, role: string, type: string | undefined): AppError {
  const what =
    type === undefined
      ? `it is not known what the ${role} \`${name}\` is`
      : `there is no connector for the ${role} \`${name}\`, which is ${type}`;
  return new AppError('bad_import', what, {
    hint:
      type === undefined
        ? `name the file that describes it with \`--connections ~/.sling/env.yaml\`, or set the variable ${name} to its address`
        : '`headgate list` shows which systems there are',
  });
}

function streamOf(
  stream: string,
  settings: JsonObject,
  { from, to, document }: { from: ImportedSystem; to: Connection; document: JsonObject },
): ImportedStream {
  const key = listOf(settings['primary_key']);
  const updateKey = settings['update_key'];
  const given = textOf(settings['mode'], 'full-refresh');
  const mode = modeOf(given, key);
  const names = namesOf(stream, { document, to });
  const written = typeof settings['object'] === 'string' ? settings['object'] : names.fallback;
  // A snapshot has everything every time.
  const cursor: Cursor | undefined =
    typeof updateKey === 'string' && mode !== 'overwrite' && given !== 'snapshot'
      ? { column: updateKey, value: undefined }
      : undefined;
  return {
    name: typeof settings['id'] === 'string' ? settings['id'] : names.short,
    reads: readsOf(stream, settings, from),
    writes: writesOf(filled(written, names.values), to),
    mode,
    key,
    cursor,
  };
}

function readsOf(
  stream: string,
  settings: JsonObject,
  from: ImportedSystem,
): ImportedStream['reads'] {
  if (from.kind === 'files') {
    const delimiter = mappingAt(settings, 'source_options')['delimiter'];
    const file = withEscapes(filePathOf(stream));
    return { path: file, ...(typeof delimiter === 'string' ? { delimiter } : {}) };
  }
  if (typeof settings['sql'] === 'string')
    // A bookmark is a condition of ours, and no text of the statement.
    return { sql: settings['sql'].replaceAll('{incremental_where_cond}', '1 = 1').trim() };
  const columns = listOf(settings['select']).filter((one) => !one.startsWith('-') && one !== '*');
  const { where } = settings;
  return {
    table: nameParts(stream),
    ...(columns.length > 0 ? { columns } : {}),
    ...(typeof where === 'string' ? { where } : {}),
  };
}

/** `snapshot` appends, too; `backfill` is a command of ours. */
function modeOf(mode: string, key: readonly string[]): WriteMode {
  if (mode === 'full-refresh' || mode === 'truncate') return 'overwrite';
  return key.length > 0 && mode !== 'snapshot' ? 'upsert' : 'append';
}

function namesOf(
  stream: string,
  { document, to }: { document: JsonObject; to: Connection },
): { short: string; fallback: string; values: Readonly<Record<string, string>> } {
  const parts = nameParts(stream);
  const table = parts.at(-1) ?? stream;
  const file = path.parse(filePathOf(stream));
  const fileName = file.name.replaceAll(/\W+/g, '_');
  const isFile =
    stream.includes('/') || /\.(?:csv|json|jsonl|parquet|xml|xlsx|avro)$/i.test(stream);
  return {
    short: isFile ? fileName : table,
    fallback: isFile ? fileName : table,
    values: {
      stream_name: stream,
      stream_schema: parts.length > 1 ? (parts.at(-2) ?? '') : '',
      stream_table: table,
      stream_file_name: fileName,
      stream_file_folder: path.basename(file.dir),
      stream_file_ext: file.ext.slice(1),
      source_name: textOf(document['source']),
      target_name: textOf(document['target']),
      target_schema: to.schema ?? usualSchema(to),
    },
  };
}

function usualSchema({ kind, database }: Connection): string {
  if (kind === 'postgres') return 'public';
  return kind === 'sqlite' || kind === 'duckdb' ? 'main' : (database ?? '');
}

function filled(text: string, values: Readonly<Record<string, string>>): string {
  return text.replaceAll(
    /\{(\w+)\}/g,
    (whole, name: string) => values[name.toLowerCase()] ?? whole,
  );
}

function writesOf(written: string, to: Connection): Destination {
  if (to.kind === 'files') return { path: withEscapes(filePathOf(written)) };
  const parts = nameParts(written);
  const [table = written, schema = to.schema] = parts.toReversed().map(withEscapes);
  return { table, schema };
}

function listOf(value: JsonValue | undefined): readonly string[] {
  if (typeof value === 'string') return value.split(',').map((one) => one.trim());
  return Array.isArray(value) ? value.filter((one) => typeof one === 'string') : [];
}
