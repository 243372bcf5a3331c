/** Errors of the client and of the server as errors of ours. */
import { ConnectorError, messageOf, type ConnectorErrorKind } from '../../lib/errors.ts';

const NUMBERS: Partial<Readonly<Record<ConnectorErrorKind, readonly number[]>>> = {
  connection: [64, 233, 10053, 10054, 10060, 40197, 40613, 4221, 615, 3980],
  timeout: [1205, 1222, 3960],
  rate_limited: [10928, 10929, 40501, 40544, 49918, 49919, 49920],
  auth: [18452, 18456, 18470, 18486, 18487, 18488, 33155],
  missing: [207, 208, 911, 1088, 2812, 4060, 4701, 4902],
  refused: [229, 230, 262, 297, 300, 3906, 4712, 15247, 15562, 40615, 40914],
};

const BY_NUMBER: ReadonlyMap<number, ConnectorErrorKind> = new Map(
  Object.entries(NUMBERS).flatMap(([kind, numbers]) =>
    numbers.map((number) => [number, kind as ConnectorErrorKind] as const),
  ),
);

const BY_CODE: Readonly<Record<string, ConnectorErrorKind>> = {
  ELOGIN: 'auth',
  EENCRYPT: 'refused',
  EINSTLOOKUP: 'connection',
  ESOCKET: 'connection',
  ECONNCLOSED: 'connection',
  ECONNREFUSED: 'connection',
  ECONNRESET: 'connection',
  ENOTFOUND: 'connection',
  EINVALIDSTATE: 'connection',
  ETIMEOUT: 'timeout',
};

/** What to do about a failure. */
const HINTS: Readonly<Record<string | number, string>> = {
  ESOCKET: 'check host and port, and whether the server runs and listens there',
  ECONNREFUSED: 'check host and port, and whether the server runs and listens there',
  ENOTFOUND: 'check the name of the host',
  EINSTLOOKUP: 'name the port in place of the instance, or start the SQL Server Browser',
  EENCRYPT: 'set `tls: {type: require}`, or `disable` where the server has no encryption',
  18456: 'check user and password, and that the server takes logins with passwords',
  4060: 'check the name of the database, and that the user may open it',
  207: 'check the name of the column',
  208: 'check the name of the table, its schema, and the database of the address',
  229: 'ask who keeps the database for the right (GRANT)',
  262: 'ask who keeps the database for the right (GRANT)',
  515: 'give the field a value (`coalesce`, `set`), or the column a default',
  547: 'write the rows that it refers to first, or correct the value',
  2601: 'write with `write_mode: upsert` and a `key`, or remove the row that has the key',
  2627: 'write with `write_mode: upsert` and a `key`, or remove the row that has the key',
  2628: 'make the column longer, or shorten the text',
  8152: 'make the column longer, or shorten the text',
  8115: 'make the column wider, or correct the value at the source',
  8114: 'correct the value at the source, or convert it with `cast` and `on_error: dlq`',
  241: 'correct the value at the source, or convert it with `cast` and `on_error: dlq`',
  245: 'correct the value at the source, or convert it with `cast` and `on_error: dlq`',
  1205: 'run it again; writers of the same rows wait for each other otherwise',
  40615: 'let this address through the firewall of the server',
};

interface Coded {
  readonly code: string;
  readonly number: number;
}

export function codesOf(error: unknown): Coded {
  const { code, number } = (typeof error === 'object' && error !== null ? error : {}) as Readonly<
    Record<string, unknown>
  >;
  return {
    code: typeof code === 'string' ? code : '',
    number: typeof number === 'number' ? number : 0,
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

/** A statement took too long, and the server does not hear that it is to end, either. */
const SILENCE = /^Failed to cancel request/;

/** Errors of our own pass unchanged. */
export function mssqlError(error: unknown, doing: string): ConnectorError {
  if (error instanceof ConnectorError) return error;
  const inner: unknown = error instanceof AggregateError ? (error.errors[0] ?? error) : error;
  const { code, number } = codesOf(inner);
  const hint = HINTS[number] ?? HINTS[code];
  const from = number === 0 ? '' : ` (error ${number})`;
  if (SILENCE.test(messageOf(inner)))
    return new ConnectorError('timeout', `${doing}: the server does not answer`, {
      hint: 'raise `statement_timeout_secs`',
      cause: inner,
    });
  return new ConnectorError(kindOf(inner), `${doing}: ${messageOf(inner)}${from}`, {
    cause: inner,
    ...(hint === undefined ? {} : { hint }),
  });
}

function kindOf(error: unknown): ConnectorErrorKind {
  const { code, number } = codesOf(error);
  const known = BY_NUMBER.get(number);
  if (known !== undefined) return known;
  const isTls = /certificate|self-signed|\bssl\b|\btls\b/i.test(messageOf(error));
  if (isTls && number === 0) return 'refused';
  return (
    BY_CODE[code] ??
    (/closed state|connection lost|not connected/i.test(messageOf(error)) ? 'connection' : 'data')
  );
}

/** Whether the connection cannot be used any more. */
export function isBroken(error: unknown): boolean {
  const kind = error instanceof ConnectorError ? error.kind : kindOf(error);
  return kind === 'connection' || (kind === 'timeout' && numberOf(error) === 0);
}

/** The server has rolled back, and says that trying again may succeed. */
export function isTransient(error: unknown): boolean {
  return [1205, 3960, 10928, 10929, 40501, 49918, 49919, 49920].includes(numberOf(error));
}
