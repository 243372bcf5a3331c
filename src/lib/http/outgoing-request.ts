/** Rules for requests that notify others: callbacks and notifications. */
import { percentDecoded } from '../text/percent-decoded.ts';

/** Methods that `fetch` refuses. */
const NEVER_SENT: ReadonlySet<string> = new Set(['CONNECT', 'TRACE', 'TRACK']);
const WITHOUT_BODY: ReadonlySet<string> = new Set(['GET', 'HEAD', ...NEVER_SENT]);

/** Set by the connection itself. */
const OWN_HEADERS: ReadonlySet<string> = new Set(
  'host connection content-length transfer-encoding keep-alive upgrade expect te trailer'.split(
    ' ',
  ),
);

export function carriesBody(method: string): boolean {
  return !WITHOUT_BODY.has(method.toUpperCase());
}

export function canBeSent(method: string): boolean {
  return !NEVER_SENT.has(method.toUpperCase());
}

/** Why a header cannot be sent, as the end of a sentence; the value is never part of it. */
export function headerFault(name: string, value: string): string | undefined {
  if (OWN_HEADERS.has(name.toLowerCase())) return `\`${name}\` cannot be set`;
  try {
    new Headers().set(name, value);
    return undefined;
  } catch {
    return `${JSON.stringify(name)} is not a header that can be sent`;
  }
}

/**
 * The address without its login, and the login as a header value: `fetch` refuses addresses with
 * logins and shows them in its error.
 */
export function splitLogin(text: string): {
  readonly url: URL;
  readonly authorization: string | undefined;
} {
  const url = new URL(text);
  const { username, password } = url;
  url.username = '';
  url.password = '';
  if (username === '' && password === '') return { url, authorization: undefined };
  const login = `${percentDecoded(username)}:${percentDecoded(password)}`;
  return { url, authorization: `Basic ${Buffer.from(login, 'utf8').toString('base64')}` };
}
