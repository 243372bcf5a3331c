/** What a pair of a tap and a target moves. */
import { withEscapes } from '../../document/tokens/tokens.ts';
import { isObject, type JsonObject, type JsonValue } from '../../lib/text/json.ts';
import { listOf, mappingAt, textOf } from './foreign-values.ts';
import type {
  Cursor,
  Destination,
  FileFormat,
  ImportedStream,
  ImportedSystem,
  WriteMode,
} from './imported-move.ts';
import { fileFormatOf, withVariables, type Plugin } from './meltano-plugins.ts';

export interface PairToRead {
  readonly tap: Plugin;
  readonly target: Plugin;
  readonly from: ImportedSystem;
  readonly to: ImportedSystem;
  /** Bookmarks by stream. */
  readonly state: JsonObject;
}

export interface StreamsOfPair {
  readonly streams: readonly ImportedStream[];
  readonly notes: readonly string[];
}

/** Folder of targets that write files. */
const FOLDER = 'output';

export function streamsOf(pair: PairToRead): StreamsOfPair {
  const read = pair.from.kind === 'files' ? filesOf(pair) : tablesOf(pair);
  return { ...read, notes: [...read.notes, ...fileNotes(pair.target)] };
}

function filesOf({ tap, target, to }: PairToRead): StreamsOfPair {
  const streams = listOf(mappingAt(tap.settings, 'config')['files'])
    .filter(isObject)
    .map((file): ImportedStream => {
      const name = textOf(file['entity'], 'records');
      const key = listOf(file['keys']).map((one) => textOf(one));
      const { delimiter } = file;
      return {
        name,
        reads: {
          path: withVariables(textOf(file['path'])),
          ...(typeof delimiter === 'string' ? { delimiter } : {}),
        },
        writes: destinationOf({ stream: name, table: name, isUnique: true }, { tap, target, to }),
        mode: key.length > 0 && to.kind !== 'files' ? 'upsert' : 'overwrite',
        key,
        cursor: undefined,
      };
    });
  return { streams, notes: [] };
}

function tablesOf({ tap, target, to, state }: PairToRead): StreamsOfPair {
  const streams: ImportedStream[] = [];
  const notes: string[] = [];
  const selected = [...selectionOf(tap)];
  for (const [stream, fields] of selected) {
    if (stream.includes('*')) {
      notes.push(
        `\`${stream}\` stands for many tables: \`headgate discover\` writes a row for each`,
      );
      continue;
    }
    const meta = mappingAt(tap.settings, 'metadata', stream);
    if (meta['replication-method'] === 'LOG_BASED')
      notes.push(
        `${stream} was read from the log: \`postgres-cdc\` with \`replication\` does that`,
      );
    const key = listOf(meta['table-key-properties'] ?? meta['view-key-properties']).map((one) =>
      textOf(one),
    );
    const cursor = cursorOf(meta, mappingAt(state, stream));
    if (key.length === 0 && to.kind !== 'files')
      notes.push(`the key of ${stream}: give it as \`key\` with \`write_mode: upsert\``);
    const reads = partsOf(stream);
    const table = reads.at(-1) ?? stream;
    const isUnique = selected.every(([one]) => one === stream || partsOf(one).at(-1) !== table);
    streams.push({
      name: table,
      reads: { table: reads },
      writes: destinationOf({ stream, table, isUnique }, { tap, target, to }),
      mode: writeModeOf(key, cursor, to),
      key,
      cursor,
      elsewhere: elsewhereOf({ table, isUnique }, target, to),
    });
    const columns = fields.map((one) => one.split('.').slice(1).join('.'));
    if (columns.some((one) => one !== '*'))
      notes.push(`fields of ${stream} that were left out: list the others in its \`query\``);
  }
  return { streams, notes };
}

/** Patterns of fields by stream, without streams of which nothing is wanted. */
function selectionOf({ settings }: Plugin): Map<string, string[]> {
  const chosen = listOf(settings['select']).filter((one) => typeof one === 'string');
  const streams = Map.groupBy(chosen, (one) => one.replace(/^!/, '').split('.')[0] ?? '');
  return new Map([...streams].filter(([, fields]) => fields.some((one) => !one.startsWith('!'))));
}

interface Named {
  readonly stream: string;
  readonly table: string;
  /** No other stream has a table of this name. */
  readonly isUnique: boolean;
}

function destinationOf(
  { stream, table, isUnique }: Named,
  {
    tap,
    target,
    to,
  }: { readonly tap: Plugin; readonly target: Plugin; readonly to: ImportedSystem },
): Destination {
  const format = fileFormatOf(target);
  if (format !== undefined) return fileOf(stream, format, target);
  const name = isUnique ? table : partsOf(stream).join('_');
  return { table: withEscapes(name), schema: schemaOf(tap, target, to) };
}

/** `default_target_schema`, for which Meltano gives the namespace of the tap. */
function schemaOf(tap: Plugin, target: Plugin, to: ImportedSystem): string | undefined {
  // Its target has tables of one file, which have no schemas.
  if (to.kind === 'sqlite' || to.kind === 'mongodb') return undefined;
  const config = mappingAt(target.settings, 'config');
  const namespace = textOf(tap.settings['namespace']) || tap.base.replaceAll('-', '_');
  const usual = textOf(tap.settings['load_schema']) || namespace;
  const named = textOf(config['default_target_schema']) || textOf(config['schema']);
  // What Meltano fills in is the schema that the tap is given.
  return withVariables(named === '' || named.startsWith('$MELTANO_EXTRACTOR') ? usual : named);
}

function fileOf(stream: string, format: FileFormat, target: Plugin): Destination {
  const config = mappingAt(target.settings, 'config');
  const folder = folderOf(config).replace(/[/\\]+$/, '');
  const file = stream.replaceAll(/[/\\\0]/g, '-');
  const { delimiter } = config;
  return {
    path: `${withVariables(folder || FOLDER)}/${withVariables(file)}.${format}`,
    format,
    ...(format === 'csv' && typeof delimiter === 'string' ? { delimiter } : {}),
  };
}

function folderOf(config: JsonObject): string {
  return textOf(config['destination_path']) || textOf(config['output_path']);
}

/** Settings of targets of files that say more than the folder. */
function fileNotes(target: Plugin): readonly string[] {
  if (fileFormatOf(target) === undefined) return [];
  const known = ['destination_path', 'output_path', 'delimiter'];
  return Object.keys(mappingAt(target.settings, 'config'))
    .filter((key) => !known.includes(key))
    .map((key) => `\`${key}\` of ${target.name}`);
}

/**
 * Names that each target writes in its own way, and targets of which it is not known where they
 * write.
 */
function elsewhereOf(
  { table, isUnique }: Pick<Named, 'table' | 'isUnique'>,
  target: Plugin,
  to: ImportedSystem,
): string | undefined {
  const config = mappingAt(target.settings, 'config');
  if (to.kind === 'files') return undefined;
  if (to.kind === 'mysql' || to.kind === 'mongodb')
    return `it is not known which name \`${target.name}\` gave to what it wrote`;
  if (!isUnique) return 'several streams have a table of this name';
  if (!/^[a-z_][a-z0-9_]*$/.test(table) || config['schema_mapping'] !== undefined)
    return `it is not known how \`${target.name}\` wrote the name \`${table}\``;
  return undefined;
}

function writeModeOf(
  key: readonly string[],
  cursor: Cursor | undefined,
  to: ImportedSystem,
): WriteMode {
  if (to.kind === 'files') return cursor === undefined ? 'overwrite' : 'append';
  if (key.length > 0) return 'upsert';
  return cursor === undefined ? 'overwrite' : 'append';
}

function cursorOf(meta: JsonObject, bookmark: JsonObject): Cursor | undefined {
  const column = bookmark['replication_key'] ?? meta['replication-key'];
  if (typeof column !== 'string' || meta['replication-method'] === 'FULL_TABLE') return undefined;
  return { column, value: valueOf(bookmark['replication_key_value']) };
}

function valueOf(value: JsonValue | undefined): Cursor['value'] {
  const isKnown =
    typeof value === 'string' || typeof value === 'number' || typeof value === 'bigint';
  return isKnown ? value : undefined;
}

/** `public-orders` of Singer is `public.orders`. */
function partsOf(stream: string): readonly string[] {
  const [schema = '', ...rest] = stream.split('-');
  return rest.length === 0 ? [stream] : [schema, rest.join('-')];
}
