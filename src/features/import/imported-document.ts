/** From what another tool moves to a document of ours. */
import { isDeepStrictEqual } from 'node:util';
import { stringify } from 'yaml';
import { commentLines } from '../../document/text/comment-lines.ts';
import { rowId } from '../../document/text/row-names.ts';
import { rewriteTokens, withEscapes } from '../../document/tokens/tokens.ts';
import { AppError } from '../../lib/errors.ts';
import { backticked } from '../../lib/sql/mysql-address.ts';
import { quoteName } from '../../lib/sql/sql-name.ts';
import type { JsonObject, JsonValue } from '../../lib/text/json.ts';
import type { Cursor, ImportedMove, ImportedStream, ImportedSystem } from './imported-move.ts';
import { importedSinks, type ImportedSink } from './imported-sinks.ts';
import { placeOf, type Part } from './imported-part.ts';

/** A stream with its sink, and where it goes on. */
interface Row {
  readonly stream: ImportedStream;
  readonly from: ImportedSystem;
  readonly sink: ImportedSink;
  /** Without the position where that is of no use. */
  readonly cursor: Cursor | undefined;
}

/** YAML. What is left to do stands in comments at the top. */
export function importedDocument(move: ImportedMove, about: string): string {
  const document = documentOf(move);
  const notes = notesOf(move);
  const variables = variablesOf(document, { ...move.from.variables, ...move.to.variables });
  const lines = [
    about,
    ...(variables.length === 0 ? [] : ['', 'It reads these variables:', ...variables]),
    ...(notes.length === 0 ? [] : ['', 'Not carried over:', ...notes.map((note) => `- ${note}`)]),
  ];
  const text = stringify(document, { lineWidth: 0, singleQuote: true });
  return `${commentLines(lines).join('\n')}\n${text}`;
}

/** What was not carried over, each with what to do. */
export function notesOf(move: ImportedMove): readonly string[] {
  return [
    ...move.notes,
    ...rowsOf(move).flatMap((row) => [...row.sink.notes, ...cursorNotes(row)]),
  ];
}

function rowsOf({ streams, from, to }: ImportedMove): readonly Row[] {
  const sinks = importedSinks(streams, to);
  return streams.flatMap((stream, at): Row[] => {
    const sink = sinks[at];
    if (sink === undefined) return [];
    const isElsewhere = sink.isElsewhere || stream.elsewhere !== undefined;
    const cursor =
      stream.cursor === undefined || !isElsewhere
        ? stream.cursor
        : {
            ...stream.cursor,
            value: undefined,
            isNumber: stream.cursor.isNumber ?? isNumber(stream.cursor.value),
          };
    return [{ stream, from, sink, cursor }];
  });
}

function documentOf(move: ImportedMove): JsonObject {
  const { name, streams, cron } = move;
  if (streams.length === 0)
    throw new AppError('bad_import', `${name} names no stream that can be moved`, {
      hint: 'name its streams one by one, or begin with `headgate init --from ADDRESS --discover`',
    });
  const rows = rowsOf(move);
  const sources = common(rows.map(sourceOf));
  const sinks = common(rows.map(({ sink }) => sink.part));
  const ids = new Set<string>();
  const matrix = streams.map((stream, at): JsonObject => {
    return {
      id: rowId(stream.name, ids),
      source: { config: sources.own[at] ?? {} },
      sink: { config: sinks.own[at] ?? {} },
    };
  });
  return {
    version: 1,
    name: withEscapes(name),
    ...(cron === undefined ? {} : { schedule: { cron: withEscapes(cron) } }),
    pipeline: {
      source: sources.shared,
      sink: sinks.shared,
      ...(rows.some(canGoOn)
        ? { state: { type: 'file', config: { path: '.headgate/state' } } }
        : {}),
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

function sourceOf(row: Row): Part {
  const { stream, from } = row;
  const { reads } = stream;
  if ('path' in reads) {
    const csv: JsonObject =
      reads.delimiter === undefined ? {} : { csv: { delimiter: withEscapes(reads.delimiter) } };
    return { type: 'file', config: { path: reads.path, infer_types: true, ...csv } };
  }
  if (from.kind === 'mongodb') {
    const collection = 'table' in reads ? (reads.table.at(-1) ?? '') : '';
    return {
      type: 'mongodb',
      config: { ...placeOf(from), collection: withEscapes(collection) },
    };
  }
  const query = 'sql' in reads ? reads.sql : selectOf(reads, from.kind);
  return {
    type: from.kind,
    config: { ...placeOf(from), query: withEscapes(query), ...replicationOf(row) },
  };
}

function replicationOf(row: Row): JsonObject {
  const { cursor, from } = row;
  if (cursor === undefined || !canGoOn(row)) return {};
  const value = typeof cursor.value === 'string' ? withEscapes(cursor.value) : cursor.value;
  return {
    replication: {
      type: 'incremental',
      column: withEscapes(cursor.column),
      initial_value: value ?? beginning(cursor, from),
    },
  };
}

/**
 * Before every value of the column. MySQL compares a number with a column of any type, and a text
 * with a column of numbers as if it were its first digits; PostgreSQL refuses what does not fit.
 */
function beginning(cursor: Cursor, { kind }: ImportedSystem): JsonValue {
  if (kind === 'mysql') return Number.MIN_SAFE_INTEGER;
  return cursor.isNumber === true ? -2_147_483_648 : '0001-01-01T00:00:00Z';
}

function isNumber(value: Cursor['value']): boolean {
  return typeof value === 'number' || typeof value === 'bigint';
}

/** Which sources of tables keep a bookmark of their own. */
function canGoOn({ cursor, stream: { reads }, from: { kind } }: Row): boolean {
  return cursor !== undefined && !('path' in reads) && (kind === 'postgres' || kind === 'mysql');
}

function cursorNotes(row: Row): readonly string[] {
  const { stream, cursor, from } = row;
  const { name, mode, elsewhere } = stream;
  const known = stream.cursor?.value;
  if (!canGoOn(row)) {
    if (cursor === undefined) return [];
    const again =
      mode === 'append'
        ? ', and appended every time: `write_mode: upsert` with a `key`, or `overwrite`, keeps one of each'
        : '';
    return [
      `${name} is read whole in every run: \`${from.kind}\` keeps no bookmark of \`${cursor?.column}\`${again}`,
    ];
  }
  const { column, value } = cursor ?? { column: '', value: undefined };
  if (value !== undefined)
    return mode !== 'append'
      ? []
      : [
          `${name}: rows whose \`${column}\` is exactly \`${String(value)}\` are read once more and appended; where the destination has them all, raise \`initial_value\` by the smallest step`,
        ];
  const twice =
    mode === 'append' ? ' and appends it to what is there; empty the destination before, or' : ';';
  if (known !== undefined)
    return [
      `${name}: the stored position (\`${column}\` = \`${String(known)}\`) is not used, because ${elsewhere ?? 'records go to another place than before'}. The first run reads everything`,
    ];
  return [
    `${name}: how far it has come is not known, so the first run reads everything${twice} set \`initial_value\` to the last value of \`${column}\` at the destination`,
  ];
}

function selectOf(
  {
    table,
    columns,
    where,
  }: {
    readonly table: readonly string[];
    readonly columns?: readonly string[];
    readonly where?: string;
  },
  kind: ImportedSystem['kind'],
): string {
  const quote = kind === 'mysql' ? backticked : quoteName;
  const list = columns === undefined ? '*' : columns.map(quote).join(', ');
  const named = table.map(quote).join('.');
  return `SELECT ${list} FROM ${named}${where === undefined ? '' : ` WHERE ${where}`}`;
}

/** Every variable of the document, with what it has to hold. */
function variablesOf(document: JsonValue, known: Readonly<Record<string, string>>): string[] {
  const names = new Set<string>();
  const visit = (value: JsonValue): void => {
    if (typeof value === 'string')
      rewriteTokens(value, {
        replace: (body) => {
          const name = /^env:([^:]+)/.exec(body)?.[1];
          if (name !== undefined) names.add(name);
          return '';
        },
        tooDeep: () => {},
      });
    else if (typeof value === 'object' && value !== null) Object.values(value).forEach(visit);
  };
  visit(document);
  return [...names].map((name) => `${name}: ${known[name] ?? 'as the other tool reads it'}`);
}
