/**
 * LOAD DATA LOCAL from a stream. With LOCAL the server only warns of values and keys that it does not
 * take, so rows count as written when it warned of nothing.
 */
import { Readable } from 'node:stream';
import type { Connection } from 'mysql2';
import { askMysql } from '../../../lib/sql/mysql.ts';
import { backticked } from '../../../lib/sql/mysql-address.ts';
import { codesOf } from '../../../lib/sql/mysql-errors.ts';
import type { JsonValue } from '../../../lib/text/json.ts';
import type { Encoder, Slot } from './encode.ts';

/** Codes of servers that do not take files of this side. */
const NOT_ALLOWED: ReadonlySet<number> = new Set([1148, 3948, 3950, 4166]);

export function isNotAllowed(error: unknown): boolean {
  return NOT_ALLOWED.has(codesOf(error).number);
}

/** Whether the server took all rows as they are. It reads the first pieces while others are made. */
export async function loadFile(
  connection: Connection,
  table: string,
  { encoders, pieces, count }: LoadedFile,
): Promise<boolean> {
  const answer = await askMysql(connection, loadStatement(table, encoders), {
    infileStreamFactory: () => Readable.from(pieces),
  });
  return answer.warnings === 0 && answer.changed === count;
}

export interface LoadedFile {
  readonly encoders: readonly Encoder[];
  readonly pieces: Iterable<Buffer>;
  readonly count: number;
}

export interface Lines {
  readonly rows: readonly (readonly JsonValue[])[];
  readonly encoders: readonly Encoder[];
}

export function fileOf(lines: Lines): LoadedFile {
  return { encoders: lines.encoders, pieces: piecesOf(lines), count: lines.rows.length };
}

/** Size of a packet; the server holds a whole one in memory. */
export const PIECE_SIZE = 128 * 1024;

/** Rows as the lines of the file. */
function* piecesOf({ rows, encoders }: Lines): Generator<Buffer, void> {
  let text = '';
  for (const row of rows) {
    for (let index = 0; index < encoders.length; index += 1) {
      if (index > 0) text += '\t';
      text += fieldOf(encoders[index]?.encode(row[index] ?? null) ?? null);
    }
    text += '\n';
    if (text.length < PIECE_SIZE) continue;
    yield Buffer.from(text);
    text = '';
  }
  if (text !== '') yield Buffer.from(text);
}

function loadStatement(table: string, columns: readonly Encoder[]): string {
  const places = columns.map(({ name, slot }, index) =>
    isPlain(slot) ? backticked(name) : `@svc${index}`,
  );
  const sets = columns.flatMap(({ name, slot }, index) => {
    if (isPlain(slot)) return [];
    const value = slot === 'hex' ? `UNHEX(@svc${index})` : `CAST(@svc${index} AS UNSIGNED)`;
    return [`${backticked(name)} = ${value}`];
  });
  return `LOAD DATA LOCAL INFILE 'page' INTO TABLE ${backticked(table)} CHARACTER SET utf8mb4
    FIELDS TERMINATED BY '\\t' ESCAPED BY '\\\\' LINES TERMINATED BY '\\n' (${places.join(', ')})${sets.length === 0 ? '' : ` SET ${sets.join(', ')}`}`;
}

function isPlain(slot: Slot): boolean {
  return slot === 'text' || slot === 'number';
}

const NEEDS_ESCAPE = /[\\\n\r\t\0]/;
const ESCAPES: Readonly<Record<string, string>> = {
  '\\': '\\\\',
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
  '\0': '\\0',
};

/** A text as a field of the file. */
export function fieldOf(text: string | null): string {
  if (text === null) return '\\N';
  return NEEDS_ESCAPE.test(text)
    ? text.replaceAll(/[\\\n\r\t\0]/g, (char) => ESCAPES[char] ?? char)
    : text;
}
