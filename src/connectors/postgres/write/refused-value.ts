/** Finds the column of a value that the server refused and did not place. */
import { isRefusal } from '../../../lib/sql/postgres-context.ts';
import type { JsonValue } from '../../../lib/text/json.ts';
import { withRefusedRow } from '../../_sql/refused-row.ts';
import type { Encoder } from '../types/encode.ts';

interface Sent {
  readonly columns: readonly { readonly name: string; readonly sqlType: string }[];
  readonly rows: readonly (readonly JsonValue[])[];
  readonly encoders: readonly Encoder[];
  /** Rows of the same set that were sent before. */
  readonly from: number;
}

/** Rows go as arrays of texts that the statement converts: the message has the value alone. */
export function placeRefusal(error: unknown, { columns, rows, encoders, from }: Sent): unknown {
  if (!isRefusal(error) || typeof error.column === 'string') return error;
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

/** Rows of a temporary table have its columns, called `c0`, `c1`, …. */
export function placeArrival(error: unknown, columns: Sent['columns']): unknown {
  if (!isRefusal(error) || typeof error.where !== 'string') return error;
  const place = /^COPY svc_page_\w+, line \d+, column c(\d+)/.exec(error.where)?.[1];
  const column = columns[Number(place)];
  if (column !== undefined) error.column = column.name;
  return error;
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
