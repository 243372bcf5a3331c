/** What the server says when it does not do what it was asked for. */
import { ConnectorError, type ConnectorErrorKind } from '../../../lib/errors.ts';
import type { Redactor } from '../../../lib/redact.ts';
import { excerptOf } from '../../../lib/text/excerpt.ts';
import { isObject, jsonText, type JsonValue } from '../../../lib/text/json.ts';

/** A statement that the server has ended: nothing of it was done. */
export class StatementError extends ConnectorError {
  readonly sqlState: string;

  constructor(
    kind: ConnectorErrorKind,
    text: string,
    { sqlState, hint }: { readonly sqlState: string; readonly hint?: string | undefined },
  ) {
    const message = `the server refuses: ${text}`;
    super(kind, message, hint === undefined ? {} : { hint });
    this.sqlState = sqlState;
  }
}

/** By the code of the API. */
const CODES: Readonly<Record<string, ConnectorErrorKind>> = {
  TEMPORARILY_UNAVAILABLE: 'http_5xx',
  WORKSPACE_TEMPORARILY_UNAVAILABLE: 'http_5xx',
  SERVICE_UNDER_MAINTENANCE: 'http_5xx',
  RESOURCE_EXHAUSTED: 'rate_limited',
  DEADLINE_EXCEEDED: 'timeout',
  UNAUTHENTICATED: 'auth',
  NOT_FOUND: 'missing',
};

/** By the state of SQL. */
const STATES: readonly (readonly [string, ConnectorErrorKind])[] = [
  ['42P01', 'missing'],
  ['42703', 'missing'],
  ['42704', 'missing'],
  ['42501', 'auth'],
  // Another transaction has changed the same rows.
  ['2D521', 'http_5xx'],
  ['40', 'http_5xx'],
  ['22', 'data'],
  ['23', 'data'],
  ['28', 'auth'],
];

const HINTS: readonly (readonly [RegExp, string])[] = [
  [
    /catalogManaged|catalog[- ]managed|TRANSACTION_NOT_SUPPORTED/i,
    'exactly-once delivery needs transactions over two tables: a managed table of Unity Catalog with `delta.feature.catalogManaged` as `supported`, such as this sink makes it',
  ],
  [
    /25 MiB|exceeds the (?:maximum )?(?:inline )?(?:byte )?limit|Inline byte limit/i,
    'set `external_links: true`, or select less',
  ],
  [/TABLE_OR_VIEW_NOT_FOUND|SCHEMA_NOT_FOUND/, 'check the name, `catalog` and `schema`'],
  [/PERMISSION_DENIED|INSUFFICIENT_PERMISSIONS/, 'grant the right to the user of the token'],
];

/** The error of a statement whose `status` says that it failed. */
export function statementError(status: JsonValue | undefined, redactor: Redactor): StatementError {
  const about = isObject(status) ? status : {};
  const { error = null, state = null } = about;
  const told = isObject(error) ? error : {};
  const sqlState = jsonText(about['sql_state'] ?? told['sql_state'] ?? null);
  const code = jsonText(told['error_code'] ?? null);
  const text = jsonText(told['message'] ?? state);
  const kind =
    STATES.find(([start]) => sqlState.startsWith(start))?.[1] ?? CODES[code] ?? kindOfText(text);
  return new StatementError(kind, excerptOf(text, redactor), {
    sqlState,
    hint: HINTS.find(([pattern]) => pattern.test(text))?.[1],
  });
}

const TEXTS: readonly (readonly [RegExp, ConnectorErrorKind])[] = [
  [/\[(?:TABLE_OR_VIEW|SCHEMA|CATALOG)_NOT_FOUND|NO_SUCH_CATALOG/, 'missing'],
  [/DELTA_CONCURRENT/, 'http_5xx'],
  [/PERMISSION_DENIED|INSUFFICIENT_PERMISSIONS/, 'auth'],
];

function kindOfText(text: string): ConnectorErrorKind {
  return TEXTS.find(([pattern]) => pattern.test(text))?.[1] ?? 'refused';
}

export function isMissing(error: unknown): boolean {
  return error instanceof StatementError && error.kind === 'missing';
}
