/** Errors of the client and of the server as errors of ours. */
import { ConnectorError, messageOf, type ConnectorErrorKind } from '../../lib/errors.ts';

const NUMBERS: Partial<Readonly<Record<ConnectorErrorKind, readonly number[]>>> = {
  connection: [
    28, 31, 1012, 1033, 1034, 1089, 1090, 1092, 3113, 3114, 3135, 12_537, 12_541, 12_547,
  ],
  timeout: [54, 60, 8177, 1013, 12_170, 30_006],
  rate_limited: [18, 20, 2391, 12_516, 12_519, 12_520],
  auth: [1005, 1017, 28_000, 28_001, 1045],
  missing: [904, 942, 12_505, 12_514, 4043],
  refused: [1031, 1950, 41_900],
};

const BY_NUMBER: ReadonlyMap<number, ConnectorErrorKind> = new Map(
  Object.entries(NUMBERS).flatMap(([kind, numbers]) =>
    numbers.map((number) => [number, kind as ConnectorErrorKind] as const),
  ),
);

/** Codes of the client. */
const BY_CODE: Readonly<Record<string, ConnectorErrorKind>> = {
  'NJS-500': 'connection',
  'NJS-501': 'connection',
  'NJS-503': 'connection',
  'NJS-510': 'timeout',
  'NJS-511': 'connection',
  'NJS-521': 'connection',
  'NJS-123': 'timeout',
  'NJS-003': 'connection',
  'NJS-517': 'missing',
  'NJS-518': 'missing',
  'NJS-116': 'auth',
  'NJS-138': 'refused',
  'NJS-533': 'refused',
  'NJS-515': 'refused',
  'NJS-516': 'missing',
};

const HINTS: Readonly<Record<string | number, string>> = {
  'NJS-503': 'check host and port, and whether the listener runs there',
  'NJS-510': 'check host and port, and whether a firewall is in between',
  'NJS-511': 'check host and port, and whether the listener runs there',
  'NJS-517': 'check `sid`; most databases are named by `service_name`',
  'NJS-518': 'check `service_name`',
  'NJS-138': 'the database has to be Oracle Database 12.1 or later',
  'NJS-533': 'the database insists on native network encryption; use a `tcps` address',
  1: 'write with `write_mode: upsert` and a `key`, or remove the row that has the key',
  60: 'run it again; writers of the same rows wait for each other otherwise',
  904: 'check the name of the column; names in small letters stand in double quotes',
  942: 'check the name of the table and its owner, and the right to read it',
  1017: 'check user and password',
  1031: 'ask who keeps the database for the right (GRANT)',
  1400: 'give the field a value (`coalesce`, `set`), or the column a default; an empty text is null in Oracle',
  1438: 'make the column wider, or correct the value at the source',
  1461: 'make the column a CLOB',
  1536: 'ask who keeps the database for more room (quota)',
  1722: 'correct the value at the source, or convert it with `cast` and `on_error: dlq`',
  1950: 'ask who keeps the database for a quota on the tablespace',
  2291: 'write the rows that it refers to first, or correct the value',
  12_899: 'make the column longer (or a CLOB), or shorten the text',
  28_000: 'the account is locked; ask who keeps the database',
};

interface Coded {
  readonly code: string;
  readonly number: number;
}

function codesOf(error: unknown): Coded {
  const { code, errorNum } = (typeof error === 'object' && error !== null ? error : {}) as Readonly<
    Record<string, unknown>
  >;
  return {
    code: typeof code === 'string' ? code : '',
    number: typeof errorNum === 'number' ? errorNum : 0,
  };
}

/** The number of an error of the server; 0 for others. */
export function numberOf(error: unknown): number {
  for (let at: unknown = error; at instanceof Error; at = at.cause) {
    const { number } = codesOf(at);
    if (number !== 0) return number;
  }
  return 0;
}

/** Errors of our own pass unchanged. */
export function oracleError(error: unknown, doing: string): ConnectorError {
  if (error instanceof ConnectorError) return error;
  const { code, number } = codesOf(error);
  const hint = HINTS[number] ?? HINTS[code];
  return new ConnectorError(kindOf(error), `${doing}: ${textOf(error)}`, {
    cause: error,
    ...(hint === undefined ? {} : { hint }),
  });
}

/** Without the address of a web page that the client adds, and without the id of the connection. */
function textOf(error: unknown): string {
  return messageOf(error)
    .replace(/\nHelp: \S+/, '')
    .replaceAll(/ ?\(CONNECTION_ID=[^)]*\)/g, '')
    .replaceAll(/\s*\n\s*/g, '; ');
}

function kindOf(error: unknown): ConnectorErrorKind {
  const { code, number } = codesOf(error);
  const known = BY_NUMBER.get(number) ?? BY_CODE[code];
  if (known !== undefined) return known;
  return /certificate|self-signed|\bssl\b|\btls\b/i.test(messageOf(error)) ? 'refused' : 'data';
}

const BREAKS = new Set(['connection']);

/** Whether the connection cannot be used any more. */
export function isBroken(error: unknown): boolean {
  const kind = error instanceof ConnectorError ? error.kind : kindOf(error);
  return BREAKS.has(kind) || (kind === 'timeout' && numberOf(error) === 0);
}

/** Deadlocks and failed serialization, of which trying again may succeed. */
export function isTransient(error: unknown): boolean {
  return [60, 8177].includes(numberOf(error));
}
