/** Rows that go to the server as a COPY stream. */
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { ClientBase } from 'pg';
import { quoteNames } from '../../lib/sql-name.ts';
import { JSON_LINES } from '../../kit/json-lines.ts';
import type { Page } from '../../kit/page.ts';
import { BINARY_HEAD, BINARY_TAIL, binaryBlock } from './copy-binary.ts';
import type { CopyColumn } from './copy-text.ts';
import type { CopyTarget } from './schema.ts';

export async function copyIn(client: ClientBase, sql: string, parts: readonly Uint8Array[]): Promise<void> {
  const { from } = await import('pg-copy-streams');
  await pipeline(Readable.from(parts), client.query(from(sql)));
}

/** A block that one COPY takes as it stands. */
export interface Passage {
  readonly sql: string;
  readonly parts: readonly Uint8Array[];
}

/** How a page goes into a table without becoming records; `undefined` when it has to. `json` is the column that takes whole records. */
export function passageOf(page: Page, table: string, target: CopyTarget, json: string | undefined): Passage | undefined {
  return json === undefined ? binaryPassage(page, table, target) : linesPassage(page, table, target, json);
}

function binaryPassage(page: Page, table: string, target: CopyTarget): Passage | undefined {
  const held = binaryBlock(page);
  if (held === undefined || !held.columns.every((column) => agrees(column, target))) return undefined;
  const names = held.columns.map((column) => column.name);
  return { sql: `COPY ${table} (${quoteNames(names)}) FROM STDIN (FORMAT binary)`, parts: [BINARY_HEAD, held.block, BINARY_TAIL] };
}

const TEXTS: readonly number[] = [25, 1043];

/** The table has the column, with the type the values are written in. */
function agrees({ name, oid }: CopyColumn, target: CopyTarget): boolean {
  const type = target.get(name);
  return type === oid || (type !== undefined && TEXTS.includes(type) && TEXTS.includes(oid));
}

function linesPassage(page: Page, table: string, target: CopyTarget, column: string): Passage | undefined {
  if (page.form.form !== 'bytes' || page.form.encoding !== JSON_LINES.name || !target.has(column)) return undefined;
  return { sql: `COPY ${table} (${quoteNames([column])}) FROM STDIN`, parts: [escapedLines(page.block(JSON_LINES))] };
}

const BACKSLASH = 92;

/** JSON text holds none of the characters COPY reads in a special way but the backslash. */
function escapedLines(block: Uint8Array): Uint8Array {
  let backslashes = 0;
  for (let at = block.indexOf(BACKSLASH); at !== -1; at = block.indexOf(BACKSLASH, at + 1)) backslashes += 1;
  if (backslashes === 0) return block;
  const out = Buffer.allocUnsafe(block.length + backslashes);
  let length = 0;
  for (let at = 0; at < block.length; at += 1) {
    const byte = block[at] as number;
    out[length++] = byte;
    if (byte === BACKSLASH) out[length++] = BACKSLASH;
  }
  return out;
}
