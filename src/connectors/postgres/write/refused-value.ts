/** Finds the column of a value that the server refused and did not place. */
import {
  columnOfCopy,
  isOfArrival,
  isRefusal,
  rowOfCopy,
} from '../../../lib/sql/postgres-context.ts';
import type { JsonValue } from '../../../lib/text/json.ts';
import { withRefusedRow } from '../../_sql/refused-row.ts';
import type { CopyIn } from '../copy/copy-in.ts';
import type { Encoder } from '../../_postgres/encode.ts';

interface Sent {
  readonly columns: readonly { readonly name: string; readonly sqlType: string }[];
  readonly rows: readonly (readonly JsonValue[])[];
  readonly encoders: readonly Encoder[];
  /** Rows of the same set that were sent before. */
  readonly from: number;
}

/** Rows go as arrays of texts that the statement converts: the message has the value alone. */
export function placeRefusal(error: unknown, sent: Sent): unknown {
  if (!isRefusal(error)) return error;
  const { columns, rows, encoders, from } = sent;
  const broken = rowThatBreaks(error, sent);
  if (broken !== undefined) return withRefusedRow(error, from + broken);
  if (typeof error.column === 'string') return error;
  const isRefused = refusedBy(error.message);
  if (isRefused === undefined) return error;
  const { message } = error;
  const named = columns.filter(({ sqlType }) => message.includes(`type ${sqlType}`));
  for (const column of named.length > 0 ? named : columns) {
    const place = columns.indexOf(column);
    const encode = encoders[place] as Encoder;
    const row = rows.findIndex((one) => isRefused(encode(one[place] ?? null)));
    if (row === -1) continue;
    error.column = column.name;
    return withRefusedRow(error, from + row);
  }
  return error;
}

const NOT_NULL = '23502';
const UNIQUE = '23505';

/** The first row without a value, or the row whose key is there already. */
function rowThatBreaks(
  { code, column, detail }: { code: string; column?: unknown; detail?: unknown },
  { columns, rows, encoders }: Sent,
): number | undefined {
  const textAt = (row: readonly JsonValue[], place: number): string | null | undefined =>
    encoders[place]?.(row[place] ?? null);
  const found = (index: number): number | undefined => (index === -1 ? undefined : index);
  if (code === NOT_NULL) {
    const place = columns.findIndex(({ name }) => name === column);
    return place === -1 ? undefined : found(rows.findIndex((row) => textAt(row, place) === null));
  }
  const key = /^Key \((.+)\)=\((.*)\) already exists/s.exec(String(detail));
  const place = columns.findIndex(({ name }) => name === key?.[1]);
  if (code !== UNIQUE || key === null || place === -1) return undefined;
  const first = rows.findIndex((row) => textAt(row, place) === key[2]);
  // Of two rows of the page the server has taken the first.
  const second = rows.findIndex((row, index) => index > first && textAt(row, place) === key[2]);
  return found(second === -1 ? first : second);
}

/** Rows of COPY are numbered from the start of the statement, those of earlier pages too. */
export function placeCopied(error: unknown, stream: CopyIn): unknown {
  if (!isRefusal(error)) return error;
  const row = isOfArrival(error.where) ? undefined : rowOfCopy(error.where);
  if (row === undefined || row <= stream.rowsBefore) return error;
  // The record is told instead.
  error.column ??= columnOfCopy(error.where);
  error.where = undefined;
  return withRefusedRow(error, row - 1 - stream.rowsBefore);
}

/** Rows of a temporary table have its columns, called `c0`, `c1`, …. */
export function placeArrival(error: unknown, columns: Sent['columns']): unknown {
  if (!isRefusal(error) || typeof error.where !== 'string') return error;
  const place = /^COPY svc_page_\w+, line \d+, column c(\d+)/.exec(error.where)?.[1];
  const column = columns[Number(place)];
  if (column !== undefined) error.column = column.name;
  const row = rowOfCopy(error.where);
  return row === undefined ? error : withRefusedRow(error, row - 1);
}

/** A row that an upsert changes also has values that no record brought, and no rule masked. */
export function hideStoredRow(error: unknown): unknown {
  if (isRefusal(error) && String(error.detail).startsWith('Failing row')) error.detail = undefined;
  return error;
}

function refusedBy(message: string): ((text: string | null) => boolean) | undefined {
  const most = /^value too long for type character(?: varying)?\((\d+)\)$/.exec(message)?.[1];
  if (most !== undefined) return (text) => text !== null && Array.from(text).length > Number(most);
  const value = /^value "(.*)" is out of range|: "(.*)"$/s.exec(message);
  const refused = value?.[1] ?? value?.[2];
  return refused === undefined ? undefined : (text) => text === refused;
}
