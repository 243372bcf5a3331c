/** What the server tells of a value that it refuses, besides the message. */

interface Refusal {
  readonly code: string;
  readonly message: string;
  detail?: unknown;
  where?: unknown;
  column?: unknown;
}

/** Codes of values that a type, or a constraint, does not take. */
const OF_VALUES = /^2[23]/;

export function isRefusal(error: unknown): error is Error & Refusal {
  return error instanceof Error && 'code' in error && OF_VALUES.test(String(error.code));
}

/** ` (column "n")`, ` (Key (id)=(1) already exists)`; empty when there is no more to tell. */
export function contextOf(error: unknown): string {
  if (!isRefusal(error)) return '';
  const { message, column, detail, where } = error;
  const told = [
    columnText(column ?? columnOfCopy(where), message),
    rowText(where),
    detailText(detail),
  ];
  const known = told.filter((text) => text !== '');
  return known.length === 0 ? '' : ` (${known.join('; ')})`;
}

export function columnOfCopy(where: unknown): string | undefined {
  return typeof where === 'string'
    ? /^COPY .*, line \d+, column ([^:]+)/.exec(where)?.[1]
    : undefined;
}

/** The number of a row that was sent with COPY, from 1, among those of the statement. */
export function rowOfCopy(where: unknown): number | undefined {
  const line = typeof where === 'string' ? /^COPY .*?, line (\d+)/.exec(where)?.[1] : undefined;
  return line === undefined ? undefined : Number(line);
}

/** Whether the rows went to a temporary table first. */
export function isOfArrival(where: unknown): boolean {
  return typeof where === 'string' && where.startsWith('COPY svc_page_');
}

/** Rows of several pages may go with one statement. */
function rowText(where: unknown): string {
  const row = isOfArrival(where) ? undefined : rowOfCopy(where);
  return row === undefined ? '' : `row ${row} of the COPY statement`;
}

function columnText(column: unknown, message: string): string {
  if (typeof column !== 'string' || message.includes(`column "${column}"`)) return '';
  return `column "${column}"`;
}

const DETAIL_CHARS = 300;

function detailText(detail: unknown): string {
  if (typeof detail !== 'string') return '';
  return detail.length > DETAIL_CHARS
    ? `${detail.slice(0, DETAIL_CHARS)}…`
    : detail.replace(/\.$/, '');
}
