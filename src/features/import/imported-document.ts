/** From what another tool moves to a document of ours. */
import path from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { stringify } from 'yaml';
import { AppError } from '../../lib/errors.ts';
import type { JsonObject } from '../../lib/text/json.ts';
import type { ImportedMove, ImportedStream, ImportedSystem } from './imported-move.ts';

/** Before every value of a column of times. */
const BEGINNING = '1970-01-01T00:00:00Z';

interface Part {
  readonly type: string;
  readonly config: JsonObject;
}

/** YAML. What is left to do stands in comments at the top. */
export function importedDocument(move: ImportedMove, about: string): string {
  const notes = notesOf(move);
  const variables = Object.entries(move.variables).map(([name, holds]) => `${name}: ${holds}`);
  const lines = [
    about,
    ...(variables.length === 0 ? [] : ['', 'It reads these variables:', ...variables]),
    ...(notes.length === 0 ? [] : ['', 'Not carried over:', ...notes.map((note) => `- ${note}`)]),
  ];
  const head = lines.map((line) => `# ${line}`.trimEnd()).join('\n');
  return `${head}\n${stringify(documentOf(move), { lineWidth: 0, singleQuote: true })}`;
}

/** What was not carried over, each with what to do. */
export function notesOf(move: ImportedMove): readonly string[] {
  return [...move.notes, ...move.streams.flatMap((stream) => cursorNotes(stream, move.from))];
}

function documentOf(move: ImportedMove): JsonObject {
  const { name, streams, cron } = move;
  if (streams.length === 0)
    throw new AppError('bad_import', `${name} names no stream that can be moved`, {
      hint: 'name its streams one by one, or begin with `headgate init --from ADDRESS --discover`',
    });
  const sources = common(streams.map((stream) => sourceOf(stream, move.from)));
  const sinks = common(streams.map((stream) => sinkOf(stream, move.to)));
  const ids = uniqueIds(streams);
  const matrix = ids.map((id, at): JsonObject => {
    return { id, source: { config: sources.own[at] ?? {} }, sink: { config: sinks.own[at] ?? {} } };
  });
  const goesOn = streams.some((stream) => canGoOn(stream, move.from));
  return {
    version: 1,
    name,
    ...(cron === undefined ? {} : { schedule: { cron } }),
    pipeline: {
      source: sources.shared,
      sink: sinks.shared,
      ...(goesOn ? { state: { type: 'file', config: { path: '.headgate/state' } } } : {}),
    },
    ...(streams.length > 1 ? { matrix } : {}),
  };
}

/** What all have stands once; the rest of each is its own. */
function common(parts: readonly Part[]): { shared: JsonObject; own: readonly JsonObject[] } {
  const [first] = parts;
  const other = parts.find(({ type }) => type !== first?.type);
  if (first === undefined || other !== undefined)
    throw new AppError(
      'bad_import',
      `some streams need \`${first?.type}\` and others \`${other?.type}\`: one document for both cannot be made`,
      { hint: 'leave some of the streams out, and import them from a file of their own' },
    );
  const isShared = (key: string): boolean =>
    parts.every(({ config }) => isDeepStrictEqual(config[key], first.config[key]));
  const pick = (config: JsonObject, shared: boolean): JsonObject =>
    Object.fromEntries(Object.entries(config).filter(([key]) => isShared(key) === shared));
  return {
    shared: { type: first.type, config: pick(first.config, true) },
    own: parts.map(({ config }) => pick(config, false)),
  };
}

function uniqueIds(streams: readonly ImportedStream[]): readonly string[] {
  const taken = new Set<string>();
  return streams.map(({ name }) => {
    const plain = name.replaceAll(/[^\w-]+/g, '_').replaceAll(/^_+|_+$/g, '') || 'row';
    let id = plain;
    for (let n = 2; taken.has(id); n += 1) id = `${plain}_${n}`;
    taken.add(id);
    return id;
  });
}

function sourceOf(stream: ImportedStream, from: ImportedSystem): Part {
  const { reads } = stream;
  if ('path' in reads) {
    const csv: JsonObject =
      reads.delimiter === undefined ? {} : { csv: { delimiter: reads.delimiter } };
    return { type: 'file', config: { path: reads.path, infer_types: true, ...csv } };
  }
  if (from.kind === 'mongodb')
    return {
      type: 'mongodb',
      config: { ...placeOf(from), collection: 'table' in reads ? lastOf(reads.table) : '' },
    };
  const query = 'sql' in reads ? reads.sql : selectOf(reads, from.kind);
  return {
    type: from.kind,
    config: { ...placeOf(from), query, ...replicationOf(stream, from) },
  };
}

function replicationOf(stream: ImportedStream, from: ImportedSystem): JsonObject {
  if (stream.cursor === undefined || !canGoOn(stream, from)) return {};
  const { column, value } = stream.cursor;
  return {
    replication: { type: 'incremental', column, initial_value: value ?? BEGINNING },
  };
}

/** Which sources of tables keep a bookmark of their own. */
function canGoOn({ cursor, reads }: ImportedStream, { kind }: ImportedSystem): boolean {
  return cursor !== undefined && !('path' in reads) && (kind === 'postgres' || kind === 'mysql');
}

function cursorNotes(stream: ImportedStream, from: ImportedSystem): readonly string[] {
  const { cursor, name } = stream;
  if (cursor === undefined) return [];
  if (!canGoOn(stream, from))
    return [
      `${name} is read whole in every run: \`${from.kind}\` keeps no bookmark of \`${cursor.column}\``,
    ];
  if (cursor.value !== undefined) return [];
  return [
    `${name}: how far it has come is not known, so the first run reads everything; set \`initial_value\` to the last value of \`${cursor.column}\` at the destination`,
  ];
}

function selectOf(
  {
    table,
    columns,
    where,
  }: { readonly table: string; readonly columns?: readonly string[]; readonly where?: string },
  kind: ImportedSystem['kind'],
): string {
  const quote = (name: string): string => (kind === 'mysql' ? `\`${name}\`` : `"${name}"`);
  const list = columns === undefined ? '*' : columns.map(quote).join(', ');
  const named = table.split('.').map(quote).join('.');
  return `SELECT ${list} FROM ${named}${where === undefined ? '' : ` WHERE ${where}`}`;
}

function sinkOf(stream: ImportedStream, to: ImportedSystem): Part {
  const { writes, mode, key } = stream;
  if (to.kind === 'files') return fileSink(writes, mode);
  const write = { write_mode: mode, ...(mode === 'upsert' ? { key: [...key] } : {}) };
  if (to.kind === 'mongodb')
    return { type: 'mongodb', config: { ...placeOf(to), collection: lastOf(writes), ...write } };
  // A file of SQLite has no schemas.
  const table = to.kind === 'sqlite' ? lastOf(writes) : writes;
  const columns = { column_mapping: 'auto_map' };
  return { type: to.kind, config: { ...placeOf(to), table_name: table, ...columns, ...write } };
}

function fileSink(file: string, mode: ImportedStream['mode']): Part {
  const append: JsonObject = mode === 'overwrite' ? {} : { append: true };
  switch (path.extname(file.replace(/\.(?:gz|zst)$/, '')).toLowerCase()) {
    case '.csv':
      return { type: 'csv', config: { path: file, ...append } };
    case '.parquet':
      return { type: 'parquet', config: { destination: { type: 'local_path', path: file } } };
    default:
      return { type: 'jsonl', config: { path: file, ...append } };
  }
}

function placeOf({ kind, address, database }: ImportedSystem): JsonObject {
  switch (kind) {
    case 'sqlite':
      return { database_url: `sqlite:${address}?mode=rwc` };
    case 'duckdb':
      return { database: address };
    case 'mongodb':
      return { connection_uri: address, database: database ?? '' };
    default:
      return { connection_url: address };
  }
}

export function lastOf(table: string): string {
  return table.split('.').at(-1) ?? table;
}
