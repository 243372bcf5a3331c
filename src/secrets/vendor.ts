/** What the clients of vendors have in common: their failures become ours. */
import { ConnectorError, messageOf, type ConnectorErrorKind } from '../lib/errors.ts';
import { kindOfStatus } from '../lib/http/status-kind.ts';

/** First variable that is set and not empty. */
export function setting(
  variables: Readonly<Record<string, string | undefined>>,
  ...names: readonly string[]
): string | undefined {
  return names.map((name) => variables[name]).find((value) => value !== undefined && value !== '');
}

const UNREACHABLE = /ECONN|ENOTFOUND|EAI_AGAIN|EPIPE|EHOSTUNREACH|ENETUNREACH|CERT|SSL|TLS/;
const TIMED_OUT = /TIMEDOUT|TIMEOUT/i;
const LONGEST_REASON = 300;

/**
 * A failure whose kind the vendor's own classes do not tell: by the HTTP status, else by what the
 * system says.
 */
export function vendorError(
  error: unknown,
  details: { readonly status?: number; readonly kind?: ConnectorErrorKind; readonly hint?: string },
) {
  const kind =
    details.kind ??
    (details.status === undefined ? kindOfSystem(error) : kindOfStatus(details.status));
  return new ConnectorError(kind, reasonOf(error), {
    cause: error,
    ...(details.hint === undefined ? {} : { hint: details.hint }),
    ...(details.status === undefined ? {} : { status: details.status }),
  });
}

function kindOfSystem(error: unknown): ConnectorErrorKind {
  const code = codeOf(error) ?? codeOf(error instanceof Error ? error.cause : undefined) ?? '';
  const name = error instanceof Error ? error.name : '';
  if (TIMED_OUT.test(code) || TIMED_OUT.test(name) || name === 'AbortError') return 'timeout';
  return UNREACHABLE.test(code) || code.startsWith('UND_ERR') || error instanceof TypeError
    ? 'connection'
    : 'refused';
}

function codeOf(error: unknown): string | undefined {
  return typeof error === 'object' && error !== null && 'code' in error
    ? String(error.code)
    : undefined;
}

/** One line: what vendors say may go on for pages. */
function reasonOf(error: unknown): string {
  const cause = error instanceof TypeError && error.cause instanceof Error ? error.cause : error;
  const line = messageOf(cause).replaceAll(/\s+/g, ' ').trim();
  return line.length > LONGEST_REASON ? `${line.slice(0, LONGEST_REASON)}…` : line;
}
