/** What the server says when it does not do what it was asked for. */
import { ConnectorError, type ConnectorErrorKind } from '../../../lib/errors.ts';
import { excerptOf } from '../../../lib/text/excerpt.ts';
import type { Redactor } from '../../../lib/redact.ts';
import { jsonText, type JsonObject } from '../../../lib/text/json.ts';

/** By the code of the server. */
const CODES: Readonly<Record<string, ConnectorErrorKind>> = {
  '000604': 'timeout',
  '000630': 'timeout',
  '000606': 'missing',
  '000625': 'timeout',
  '002003': 'missing',
  '002043': 'missing',
  '000904': 'missing',
  '003001': 'refused',
};

/** By the state of SQL. */
const STATES: readonly (readonly [string, ConnectorErrorKind])[] = [
  ['02000', 'missing'],
  ['42S02', 'missing'],
  ['08', 'connection'],
  ['22', 'data'],
  ['23', 'data'],
  ['28', 'auth'],
  ['42501', 'refused'],
  ['57014', 'timeout'],
];

const HINTS: Readonly<Record<string, string>> = {
  '000606': 'name a `warehouse` that the role may use',
  '002003': 'check the name, `database` and `schema`, and the rights of `role`',
  '002043': 'check `database` and `schema`, and the rights of `role`',
  '003001': 'grant the right to the role, or name another `role`',
  '000630': 'raise `statement_timeout`, or use a larger `warehouse`',
};

export class SnowflakeError extends ConnectorError {
  /** As the server writes it: `002003`. */
  readonly serverCode: string;

  constructor(kind: ConnectorErrorKind, text: string, serverCode: string) {
    const hint = HINTS[serverCode];
    const message = `the server refuses: ${text} (${serverCode})`;
    super(kind, message, hint === undefined ? {} : { hint });
    this.serverCode = serverCode;
  }
}

export function serverError(answer: JsonObject, redactor: Redactor): SnowflakeError {
  const { code = null, sqlState = null, message = null } = answer;
  const [number, state] = [jsonText(code), jsonText(sqlState)];
  // A request of several statements says only in its message what went wrong in one of them.
  const inner = INNER.exec(jsonText(message))?.[1];
  const known = inner === undefined ? CODES[number] : undefined;
  const kind =
    known ??
    STATES.find(([start]) => state.startsWith(start))?.[1] ??
    kindOfText(jsonText(message));
  const text = excerptOf(inner ?? jsonText(message), redactor);
  return new SnowflakeError(kind, text, number);
}

const INNER =
  /Execution of multiple statements failed on statement "[^]*?" \(at line \d+, position \d+\)\.\s*([^]*?)(?: in SYSTEM\$MULTISTMT[^]*)?$/;

const TEXTS: readonly (readonly [RegExp, ConnectorErrorKind])[] = [
  [/does not exist or not authorized|invalid identifier/i, 'missing'],
  [/insufficient privileges/i, 'refused'],
  [
    /not recognized|out of range|cannot be null|NULL result in a non-nullable|too long|Numeric value|constraint/i,
    'data',
  ],
  [/timeout|lock/i, 'timeout'],
];

function kindOfText(message: string): ConnectorErrorKind {
  return TEXTS.find(([pattern]) => pattern.test(message))?.[1] ?? 'refused';
}
