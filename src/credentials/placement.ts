import type { Credential, CredentialProvider } from '../kit/context.ts';
import type { Redactor } from '../lib/redact.ts';

/** Puts secrets into requests. Every value used here is registered for redaction. */
export const NO_CREDENTIAL: Credential = Object.freeze({ headers: {}, query: {} });

export function bearer(token: string, redactor: Redactor): Credential {
  redactor.register(token);
  return { token, headers: { authorization: `Bearer ${token}` }, query: {} };
}

export function basic(username: string, password: string, redactor: Redactor): Credential {
  const encoded = Buffer.from(`${username}:${password}`).toString('base64');
  redactor.register(password);
  redactor.register(encoded);
  return { headers: { authorization: `Basic ${encoded}` }, query: {} };
}

export function namedHeader(header: string, value: string, redactor: Redactor): Credential {
  return namedHeaders({ [header]: value }, redactor);
}

export function namedHeaders(
  headers: Readonly<Record<string, string>>,
  redactor: Redactor,
): Credential {
  for (const value of Object.values(headers)) redactor.register(value);
  return { headers, query: {} };
}

export function queryValue(param: string, value: string, redactor: Redactor): Credential {
  redactor.register(value);
  // A message may show the value in its URL-encoded form.
  redactor.register(encodeURIComponent(value));
  return { token: value, headers: {}, query: { [param]: value } };
}

/** The provider of a credential that never changes. */
export function fixed(credential: Credential): CredentialProvider {
  return { get: () => Promise.resolve(credential), invalidate: () => {} };
}
