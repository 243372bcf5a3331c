/** Rows that go to the server as a COPY stream. */
import { quoteNames } from '../../lib/sql/sql-name.ts';
import { JSON_LINES } from '../../kit/json-lines.ts';
import type { Columns } from '../../kit/columns.ts';
import type { Page } from '../../kit/page.ts';
import { BINARY_HEAD, BINARY_TAIL, binaryBlock, hasNull } from './copy-binary.ts';
import { copyColumns, hasCells, type Scratch } from './columns-copy.ts';
import type { CopyColumn } from './copy-text.ts';
import type { CopyTarget, TargetColumn } from './schema.ts';
import { arrivalTable, insertInto } from './statements.ts';
import type { Transaction } from './unit.ts';

/** A block that COPY takes as it stands, and the columns it fills. */
export interface Passage {
  readonly columns: readonly TargetColumn[];
  readonly form: 'binary' | 'text';
  readonly block: Uint8Array;
}

interface Asked {
  readonly key: readonly string[];
  /** The column that takes whole records. */
  readonly json: string | undefined;
  readonly scratch: Scratch;
}

/** How a page goes into a table without becoming records; `undefined` when it has to. */
export function passageOf(page: Page, target: CopyTarget, asked: Asked): Passage | undefined {
  const { key, json } = asked;
  if (json !== undefined) return linesPassage(page, target, json);
  return page.columns === undefined
    ? binaryPassage(page, target, key)
    : columnsPassage(page.columns, target, asked);
}

function binaryPassage(
  page: Page,
  target: CopyTarget,
  key: readonly string[],
): Passage | undefined {
  const held = binaryBlock(page);
  if (held === undefined) return undefined;
  const columns = held.columns.flatMap((column) => agreeing(column, target));
  const places = key.map((name) => columns.findIndex((column) => column.name === name));
  if (columns.length < held.columns.length || places.includes(-1) || hasNull(held.block, places))
    return undefined;
  return { columns, form: 'binary', block: held.block };
}

/**
 * Fields that are no column are left out; a row without any known field is the business of records.
 */
function columnsPassage(
  columns: Columns,
  target: CopyTarget,
  { key, scratch }: Asked,
): Passage | undefined {
  if (key.length > 0) return undefined;
  const known = [...target.values()].flatMap((to) => {
    const from = columns.column(to.name);
    return from === undefined || !hasCells(columns, from) ? [] : [{ to, from }];
  });
  if (known.length === 0 || !known.some(({ from }) => columns.isWhole(from))) return undefined;
  return {
    columns: known.map(({ to }) => to),
    form: 'text',
    block: copyColumns(columns, known, scratch),
  };
}

const TEXTS: readonly number[] = [25, 1043];

/** The column of the table, when it has the type the values are written in. */
function agreeing({ name, oid }: CopyColumn, target: CopyTarget): TargetColumn[] {
  const column = target.get(name);
  if (column === undefined) return [];
  return column.oid === oid || (TEXTS.includes(column.oid) && TEXTS.includes(oid)) ? [column] : [];
}

function linesPassage(page: Page, target: CopyTarget, name: string): Passage | undefined {
  const column = target.get(name);
  if (page.form.form !== 'bytes' || page.form.encoding !== JSON_LINES.name || column === undefined)
    return undefined;
  return { columns: [column], form: 'text', block: escapedLines(page.block(JSON_LINES)) };
}

/** Adds the rows to the table, or puts them in the place of those with their key. */
export async function carry(
  transaction: Transaction,
  passage: Passage,
  to: { table: string; key: readonly string[] },
): Promise<void> {
  const { columns } = passage;
  if (to.key.length === 0) {
    const names = columns.map((column) => column.name);
    return send(transaction, `COPY ${to.table} (${quoteNames(names)}) FROM STDIN`, passage);
  }
  const arrival = arrivalTable(columns);
  await (await transaction.client()).query(arrival.create);
  await send(transaction, arrival.copy, passage);
  const key = to.key.flatMap((name) => columns.filter((column) => column.name === name));
  await (
    await transaction.client()
  ).query(insertInto(to.table, { columns, key, mode: 'upsert' }, arrival.from));
}

/** Binary rows stand in messages of their own. */
async function send(
  transaction: Transaction,
  sql: string,
  { form, block }: Passage,
): Promise<void> {
  if (form === 'text') return (await transaction.copy({ sql })).write(block);
  const stream = await transaction.copy({
    sql: `${sql} (FORMAT binary)`,
    head: BINARY_HEAD,
    tail: BINARY_TAIL,
  });
  return stream.writeMessages(block);
}

const BACKSLASH = 92;

/** JSON text holds none of the characters COPY reads in a special way but the backslash. */
function escapedLines(block: Uint8Array): Uint8Array {
  let backslashes = 0;
  for (let at = block.indexOf(BACKSLASH); at !== -1; at = block.indexOf(BACKSLASH, at + 1))
    backslashes += 1;
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
