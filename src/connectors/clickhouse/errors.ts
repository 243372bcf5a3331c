/** What the server says when it does not do what it was asked for. */
import { ConnectorError, type ConnectorErrorKind } from '../../lib/errors.ts';
import { excerptOf } from '../../lib/text/excerpt.ts';
import type { Redactor } from '../../lib/redact.ts';

const KINDS: readonly (readonly [ConnectorErrorKind, readonly number[]])[] = [
  // Unknown user, wrong password, missing password, wrong address, no access.
  ['auth', [192, 193, 194, 195, 291, 497, 516]],
  // Unknown column, identifier, table, database.
  ['missing', [16, 47, 60, 81]],
  // Too many queries, too many parts, no thread.
  ['rate_limited', [202, 252, 439]],
  ['timeout', [159, 209]],
  // No connection, no memory, no replica, no coordinator, a query that somebody stopped.
  ['http_5xx', [198, 203, 210, 225, 241, 242, 279, 285, 319, 394, 999]],
  // Values that do not fit their columns.
  [
    'data',
    [
      6, 25, 26, 27, 33, 34, 36, 38, 41, 53, 69, 70, 72, 117, 131, 349, 376, 407, 441, 467, 469,
      676, 691,
    ],
  ],
];

const HINTS: Readonly<Partial<Record<ConnectorErrorKind, string>>> = {
  auth: 'check `user` and `password`, and the rights of the user',
  rate_limited: 'raise `batch_size`, so that there are fewer requests, or lower the concurrency',
};

const CODE = /Code: (\d+)[.,]/;
const AT_ROW = /\(at row (\d+)\)/;

export const UNKNOWN_TABLE = 60;
export const UNKNOWN_DATABASE = 81;

export class ClickhouseError extends ConnectorError {
  readonly number: number;
  /** Row of the data of an INSERT, from 0, where the server names it. */
  readonly row: number | undefined;

  constructor(kind: ConnectorErrorKind, text: string, number: number) {
    const hint = HINTS[kind];
    super(kind, `the server refuses: ${text}`, hint === undefined ? {} : { hint });
    this.number = number;
    const row = AT_ROW.exec(text)?.[1];
    this.row = row === undefined ? undefined : Number(row) - 1;
  }
}

/** The error in an answer; `undefined` where the text is none of the server's errors. */
export function serverError(
  text: string,
  redactor: Redactor,
  told?: string | null,
): ClickhouseError | undefined {
  const written = told ?? CODE.exec(text)?.[1];
  if (written === undefined) return undefined;
  const number = Number(written);
  const kind = KINDS.find(([, numbers]) => numbers.includes(number))?.[0] ?? 'refused';
  return new ClickhouseError(kind, excerptOf(shortened(text), redactor), number);
}

/** Without rows before it, and the trace and the version that some servers add. */
function shortened(text: string): string {
  return text
    .slice(Math.max(0, text.search(CODE)))
    .replace(/,? ?Stack trace[^]*$/, '')
    .replace(/(?:, e\.what\(\) = DB::\w+| \(version [^)]*(?:\([^)]*\))?[^)]*\))\s*$/, '')
    .replace('e.displayText() = ', '')
    .trim();
}

const NOT_REACHED: ReadonlySet<unknown> = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'UND_ERR_CONNECT_TIMEOUT',
]);

/** Too many queries, too many parts: looked at before anything is stored. */
const REFUSED_AT_ONCE: ReadonlySet<number> = new Set([202, 252]);
/** A view of the table, which has its rows by then. */
const BEHIND_THE_TABLE = /while pushing to view/i;

/** Whether the server has surely done nothing of what it was asked for. */
export function isUntouched(error: ConnectorError): boolean {
  if (error instanceof ClickhouseError)
    return REFUSED_AT_ONCE.has(error.number) && !BEHIND_THE_TABLE.test(error.message);
  if (error.kind === 'rate_limited') return true;
  // A proxy says so when there is no server behind it.
  if (error.status === 503) return true;
  for (let at: unknown = error; at instanceof Error; at = at.cause)
    if (NOT_REACHED.has((at as { readonly code?: unknown }).code)) return true;
  return false;
}
