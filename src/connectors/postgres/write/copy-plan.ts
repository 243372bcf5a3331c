/** Plans pages that are sent to the server as a COPY stream. */
import { quoteNames } from '../../../lib/sql/sql-name.ts';
import { JSON_LINES } from '../../../kit/json-lines.ts';
import type { Column, Columns } from '../../../kit/columns.ts';
import type { Page } from '../../../kit/page.ts';
import type { RecordSchema } from '../../../kit/record-schema.ts';
import { filledColumns, roundedCells } from '../../_sql/cell-columns.ts';
import { typedColumns } from '../../_sql/typed-columns.ts';
import { columnRounding } from '../../_postgres/narrow-columns.ts';
import { BINARY_HEAD, BINARY_TAIL, anyValue, binaryBlock, hasNull } from '../copy/binary-rows.ts';
import { copyCells as fastCells } from '../../../fast/fast-paths.ts';
import { copyCells, type CellStyle, type PageBuffer } from '../../../fast/copy-text/copy-cells.ts';
import type { CopyColumn } from '../../_postgres/decode.ts';
import type { UnknownFields } from '../../_sql/column-names.ts';
import { NAMES, type CopyTarget, type TargetColumn } from './schema.ts';
import type { JsonValue } from '../../../lib/text/json.ts';
import {
  encoderOf,
  escaped,
  holdsDocuments,
  isJsonType,
  takesBytes,
  type Encoded,
} from '../../_postgres/encode.ts';
import { roundingOf } from '../../_postgres/rounding.ts';
import type { CopyIn } from '../copy/copy-in.ts';
import { placeCopied } from './refused-value.ts';
import { arrivalTable, insertInto } from './statements.ts';
import type { Transaction } from './write-transaction.ts';

/** A block that COPY can read directly, and the columns it fills. */
export interface CopyPlan {
  readonly columns: readonly TargetColumn[];
  readonly form: 'binary' | 'text';
  readonly block: Uint8Array;
  readonly unknown: UnknownFields;
  /** How many values each column does not hold exactly. */
  readonly rounded: ReadonlyMap<string, number>;
}

const NONE: ReadonlyMap<string, number> = new Map();
const ALL_KNOWN: UnknownFields = new Map();

interface CopyRequest {
  readonly key: readonly string[];
  /** The column that stores whole records. */
  readonly json: string | undefined;
  /** The buffer for rows before they are sent. */
  readonly buffer: PageBuffer;
}

/** How a page can be written without making records; `undefined` when it cannot. */
export function planCopy(
  page: Page,
  target: CopyTarget,
  request: CopyRequest,
): CopyPlan | undefined {
  const { key, json } = request;
  if (json !== undefined) return planLines(page, target, json);
  return page.columns === undefined
    ? planBinary(page, target, key)
    : planColumns(page.columns, target, { ...request, schema: page.schema });
}

function planBinary(page: Page, target: CopyTarget, key: readonly string[]): CopyPlan | undefined {
  const held = binaryBlock(page);
  if (held === undefined) return undefined;
  const columns = held.columns.flatMap((column) => agreeing(column, target));
  const places = key.map((name) => columns.findIndex((column) => column.name === name));
  if (columns.length < held.columns.length || places.includes(-1) || hasNull(held.block, places))
    return undefined;
  // Records tell which values they are.
  if (anyValue(held.block, typedColumns(columns, page.schema).map(binaryRounding)))
    return undefined;
  return { columns, form: 'binary', block: held.block, unknown: ALL_KNOWN, rounded: NONE };
}

function planColumns(
  columns: Columns,
  target: CopyTarget,
  { key, buffer, schema }: CopyRequest & { readonly schema: RecordSchema | undefined },
): CopyPlan | undefined {
  if (key.length > 0 || !fastCells.isOn()) return undefined;
  const filled = filledColumns(columns, { live: [...target.values()], rules: NAMES, schema });
  if (filled === undefined) return undefined;
  const { known, unknown } = filled;
  return {
    columns: known.map(({ to }) => to),
    form: 'text',
    block: copyCells(
      columns,
      known.map(({ to, from }) => ({
        from,
        style: hasRounded(columns, from, to) ? 'encoded' : styleOf(to),
        encode: cellEncoder(to),
      })),
      buffer,
    ),
    unknown,
    rounded: roundedCells(columns, known, (to) => columnRounding(to, to.type)),
  };
}

function binaryRounding(column: Encoded): ((bytes: Buffer) => boolean) | undefined {
  return columnRounding(column, column.type)?.roundsBinary;
}

/** Whether a cell may be a value that the server would round. */
function hasRounded(columns: Columns, { starts, ends }: Column, to: Encoded): boolean {
  const rounding = roundingOf(to);
  if (rounding === undefined) return false;
  for (let index = 0; index < columns.rows.length; index += 1) {
    const row = columns.rows[index] as number;
    const start = starts[row] as number;
    const end = ends[row] as number;
    if (end - start < rounding.least) continue;
    if (!rounding.whole || isWhole(columns.cells.bytes, start, end)) return true;
  }
  return false;
}

const MINUS = 45;
const ZERO = 48;
const NINE = 57;

function isWhole(bytes: Uint8Array, start: number, end: number): boolean {
  for (let at = bytes[start] === MINUS ? start + 1 : start; at < end; at += 1) {
    const byte = bytes[at] as number;
    if (byte < ZERO || byte > NINE) return false;
  }
  return true;
}

function styleOf(column: Encoded): CellStyle {
  const sqlType = column.baseType ?? column.sqlType;
  if (isJsonType(sqlType)) return holdsDocuments(column) ? 'document' : 'json';
  if (sqlType === 'bytea' && takesBytes(column.type)) return 'encoded';
  return sqlType.endsWith('[]') ? 'list' : 'plain';
}

function cellEncoder(column: Encoded): (value: JsonValue) => string {
  const encode = encoderOf(column);
  return (value) => {
    const text = encode(value);
    return text === null ? '\\N' : escaped(text);
  };
}

const TEXTS: readonly number[] = [25, 1043];

/** The column of the table, if its type is the one of the values. */
function agreeing({ name, oid }: CopyColumn, target: CopyTarget): TargetColumn[] {
  const column = target.get(name);
  if (column === undefined) return [];
  return column.oid === oid || (TEXTS.includes(column.oid) && TEXTS.includes(oid)) ? [column] : [];
}

function planLines(page: Page, target: CopyTarget, name: string): CopyPlan | undefined {
  const column = target.get(name);
  if (page.form.form !== 'bytes' || page.form.encoding !== JSON_LINES.name || column === undefined)
    return undefined;
  return {
    columns: [column],
    form: 'text',
    block: escapedLines(page.block(JSON_LINES)),
    unknown: ALL_KNOWN,
    rounded: NONE,
  };
}

/** Adds the rows to the table, or replaces the rows with the same keys. */
export async function sendCopy(
  transaction: Transaction,
  plan: CopyPlan,
  to: { readonly table: string; readonly key: readonly string[]; readonly rows: number },
): Promise<void> {
  const { columns } = plan;
  if (to.key.length === 0) {
    const names = columns.map((column) => column.name);
    const stream = await copyOf(
      transaction,
      plan,
      `COPY ${to.table} (${quoteNames(names)}) FROM STDIN`,
    );
    stream.beginPage(to.rows);
    return send(stream, plan).catch((error: unknown) => {
      throw placeCopied(error, stream);
    });
  }
  const arrival = arrivalTable(columns);
  await transaction.arrival(arrival);
  await send(await copyOf(transaction, plan, arrival.copy), plan);
  const key = to.key.flatMap((name) => columns.filter((column) => column.name === name));
  await (
    await transaction.client()
  ).query(insertInto(to.table, { columns, key, mode: 'upsert' }, arrival.from));
}

function copyOf(transaction: Transaction, { form }: CopyPlan, sql: string): Promise<CopyIn> {
  return form === 'text'
    ? transaction.copy({ sql })
    : transaction.copy({ sql: `${sql} (FORMAT binary)`, head: BINARY_HEAD, tail: BINARY_TAIL });
}

/** Binary rows already are protocol messages. */
function send(stream: CopyIn, { form, block }: CopyPlan): Promise<void> {
  return form === 'text' ? stream.write(block) : stream.writeMessages(block);
}

const BACKSLASH = 92;

/** The backslash is the only character in JSON text that is special for COPY. */
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
