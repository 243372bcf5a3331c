import { ConnectorError, messageOf, type ConnectorErrorKind } from '../../lib/errors.ts';
import { LONGEST_ASKED_WAIT_MS } from '../../lib/time/backoff.ts';
import { kindOfStatus } from '../../lib/http/status-kind.ts';

export interface StatusFailure {
  readonly method: string;
  /** Already made safe to show. */
  readonly url: string;
  readonly status: number;
  readonly excerpt: string;
  readonly retryAfterMs?: number | undefined;
}

export function statusError(failure: StatusFailure): ConnectorError {
  const { status, retryAfterMs } = failure;
  const body = failure.excerpt === '' ? '' : `: ${failure.excerpt}`;
  const isLong = retryAfterMs !== undefined && retryAfterMs > LONGEST_ASKED_WAIT_MS;
  const hint = isLong ? laterHint(retryAfterMs) : HINTS[status];
  return new ConnectorError(
    kindOfStatus(status),
    `${failure.method} ${failure.url} answers ${status}${body}`,
    {
      status,
      ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
      ...(hint === undefined ? {} : { hint }),
    },
  );
}

function laterHint(askedMs: number): string {
  const asks = `it asks to wait for ${Math.round(askedMs / 1000)} s (\`Retry-After\`)`;
  return `${asks}, and a run waits for an hour at most: run again then`;
}

const HINTS: Readonly<Record<number, string>> = {
  401: 'check `auth`: the server does not know this login',
  403: 'the login has no permission for this; check its permissions',
  404: 'nothing is there: check the address (`url`, or `base_url` and `path`)',
  405: 'check `method`',
  413: 'send smaller requests: lower `batch_size`',
  429: 'send fewer requests: set `request_delay`, or raise `max_retries`',
};

/** Converts what `fetch` throws when there is no response. `url` is already safe to show. */
export function transportError(error: unknown, method: string, url: string): ConnectorError {
  if (error instanceof ConnectorError) return error;
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  const code =
    typeof cause === 'object' && cause !== null && 'code' in cause ? String(cause.code) : '';
  const says = messageOf(cause) === '' ? code : messageOf(cause);
  // Repeating does not help when the request could not be built.
  if (error instanceof TypeError && error.cause === undefined) {
    return new ConnectorError('refused', `${method} ${url} cannot be sent: ${error.message}`, {
      cause: error,
    });
  }
  if (/TIMEOUT|TIMEDOUT/.test(code))
    return new ConnectorError('timeout', `${method} ${url} timed out: ${says}`, { cause: error });
  if (/WRONG_VERSION_NUMBER|PACKET_LENGTH_TOO_LONG|HTTP_REQUEST/.test(code)) {
    return new ConnectorError(
      'connection',
      `${method} ${url} failed: the server does not speak TLS`,
      {
        hint: 'use `http://`, or the port on which it speaks TLS',
        cause: error,
      },
    );
  }
  const told = FAULTS.find(([pattern]) => pattern.test(code) || pattern.test(says));
  const { kind, why, hint } = told?.[1] ?? {};
  return new ConnectorError(
    kind ?? 'connection',
    `${method} ${url} failed: ${why ?? says.trim()}`,
    hint === undefined ? { cause: error } : { cause: error, hint },
  );
}

interface Fault {
  /** A lost connection where it is absent. */
  readonly kind?: ConnectorErrorKind;
  /** Where the words of the client do not say it. */
  readonly why?: string;
  readonly hint?: string;
}

/** By the code or the words of the client. */
const FAULTS: readonly (readonly [RegExp, Fault])[] = [
  [
    /^bad port$/,
    {
      kind: 'refused',
      why: 'web clients never send to this port, which belongs to another protocol (Fetch standard, bad ports)',
      hint: 'let the service listen on another port, or put a proxy in front of it',
    },
  ],
  [
    /^ENOTFOUND$/,
    { why: 'there is no host of this name', hint: 'check the host name of the address' },
  ],
  [
    /^EAI_AGAIN$/,
    {
      why: 'the host name could not be looked up',
      hint: 'check the host name of the address, and the name server of this machine',
    },
  ],
  [
    /^ECONNREFUSED$/,
    { why: 'connection refused', hint: 'no server listens there; check host and port' },
  ],
  [
    /^(?:UND_ERR_SOCKET|ECONNRESET|EPIPE)$|^(?:other side closed|terminated)$/,
    {
      why: 'the connection was closed before the answer was complete',
      hint: 'look at the log of the server or of what stands before it, then run again; `max_retries` repeats requests',
    },
  ],
  [
    /^Z_|^ERR_BROTLI/,
    {
      kind: 'data',
      why: 'the answer is not compressed as its `Content-Encoding` says',
      hint: 'have the server mended; the header `Accept-Encoding: identity` asks it for none',
    },
  ],
  [
    /CERT|SELF_SIGNED|UNABLE_TO_VERIFY/,
    {
      hint: 'the certificate of the server is not trusted; add its authority with the environment variable NODE_EXTRA_CA_CERTS',
    },
  ],
];

/** How long an answer may take. */
export interface AnswerTime {
  readonly timeoutMs?: number | undefined;
  /** The field of the document that says so. */
  readonly timeoutField?: string;
}

export function timeoutError(
  method: string,
  url: string,
  { timeoutMs = 0, timeoutField: field }: AnswerTime,
): ConnectorError {
  return new ConnectorError(
    'timeout',
    `${method} ${url} did not answer within ${timeoutMs / 1000} s`,
    field === undefined ? {} : { hint: `raise \`${field}\`` },
  );
}
