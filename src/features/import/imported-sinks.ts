/** Where the records of each stream are written. */
import path from 'node:path';
import { withEscapes } from '../../document/tokens/tokens.ts';
import type { JsonObject } from '../../lib/text/json.ts';
import type { FileFormat, ImportedStream, ImportedSystem } from './imported-move.ts';
import { placeOf, type Part } from './imported-part.ts';

export interface ImportedSink {
  readonly part: Part;
  /** Not the place that the project names: what is there already, is not here. */
  readonly isElsewhere: boolean;
  readonly notes: readonly string[];
}

/** One for each stream. */
export function importedSinks(
  streams: readonly ImportedStream[],
  to: ImportedSystem,
): readonly ImportedSink[] {
  const tables = streams.flatMap(({ writes }) => ('table' in writes ? [writes.table] : []));
  return streams.map((stream) => {
    const { writes } = stream;
    if ('path' in writes) return fileSink(stream, writes);
    const isUnique = tables.indexOf(writes.table) === tables.lastIndexOf(writes.table);
    return tableSink(stream, { ...writes, isUnique }, to);
  });
}

function tableSink(
  { name, mode, key }: ImportedStream,
  { table, schema, isUnique }: { table: string; schema: string | undefined; isUnique: boolean },
  to: ImportedSystem,
): ImportedSink {
  const hasSchema = to.kind === 'postgres';
  const isLost = !hasSchema && schema !== undefined && schema !== usualSchema(to);
  // Tables of one name in two schemas must not end in one table.
  const written = isLost && !isUnique ? `${schema}_${table}` : table;
  const why =
    to.kind === 'mysql' || to.kind === 'mongodb'
      ? 'the connection decides the database'
      : `\`${to.kind}\` has no schemas here`;
  const notes = isLost
    ? [`${name} goes to \`${written}\`, not to \`${schema}.${table}\`: ${why}`]
    : [];
  const write = {
    write_mode: mode,
    ...(mode === 'upsert' ? { key: key.map(withEscapes) } : {}),
  };
  const config: JsonObject =
    to.kind === 'mongodb'
      ? { ...placeOf(to), collection: written, ...write }
      : {
          ...placeOf(to),
          ...(hasSchema && schema !== undefined ? { schema } : {}),
          table_name: written,
          column_mapping: 'auto_map',
          ...write,
        };
  return { part: { type: to.kind, config }, isElsewhere: isLost, notes };
}

/** The one in which a sink writes that cannot be told one. */
function usualSchema({ kind, database }: ImportedSystem): string | undefined {
  return kind === 'sqlite' || kind === 'duckdb' ? 'main' : database;
}

function fileSink(
  { name, mode }: ImportedStream,
  {
    path: file,
    format = formatOf(file),
    delimiter,
  }: { readonly path: string; readonly format?: FileFormat; readonly delimiter?: string },
): ImportedSink {
  const replaces = mode === 'overwrite';
  const notes =
    mode === 'upsert'
      ? [`${name}: files have no key, so a record that is there already is appended once more`]
      : [];
  if (format === 'parquet') {
    // A file of Parquet cannot be appended to: a folder gets another one from every run.
    const place = replaces ? file : file.replace(/\.parquet$/i, '');
    const config = { destination: { type: 'local_path', path: place } };
    const more = replaces ? [] : [`${name}: every run adds a file to the folder \`${place}\``];
    return { part: { type: 'parquet', config }, isElsewhere: false, notes: [...notes, ...more] };
  }
  const config: JsonObject = {
    path: file,
    ...(delimiter === undefined ? {} : { delimiter: withEscapes(delimiter) }),
    ...(replaces ? {} : { append: true }),
  };
  return { part: { type: format, config }, isElsewhere: false, notes };
}

function formatOf(file: string): FileFormat {
  const extension = path.extname(file.replace(/\.(?:gz|zst)$/i, '')).toLowerCase();
  if (extension === '.csv') return 'csv';
  return extension === '.parquet' ? 'parquet' : 'jsonl';
}
