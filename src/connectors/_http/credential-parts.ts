/** What a credential adds to a request. */
import type { CalledRequest, Credential, RequestParts } from '../../kit/context.ts';
import { ConnectorError } from '../../lib/errors.ts';
import { parseJson, stringifyJson, type JsonObject, type JsonValue } from '../../lib/text/json.ts';
import { isBodyless } from './fields.ts';
import { withField } from './set-field.ts';
import { joinUrl, withQuery } from './url.ts';

export const NO_PARTS: Required<RequestParts> = { headers: {}, query: {}, body: {} };

/** Header names are lower case. */
export function partsOf(credential: Credential, call: CalledRequest): Required<RequestParts> {
  const url = withQuery(call.url, Object.entries(credential.query));
  const { headers = {}, query = {}, body = {} } = credential.perRequest?.({ ...call, url }) ?? {};
  const named = Object.entries({ ...credential.headers, ...headers });
  return {
    headers: Object.fromEntries(named.map(([name, value]) => [name.toLowerCase(), value])),
    query: { ...credential.query, ...query },
    body,
  };
}

/** Whether the server says that the credential is no longer good. */
export function isRefused({ refusedBy = [401] }: Credential, { status }: ConnectorError): boolean {
  return refusedBy.some((one) => one === status);
}

/** The body with the fields of the credential. */
export function withParts(
  { method, body }: { readonly method: string; readonly body: string | undefined },
  fields: JsonObject,
): string | undefined {
  const added = Object.entries(fields);
  if (added.length === 0) return body;
  if (isBodyless(method))
    throw new ConnectorError(
      'refused',
      `the login belongs into the body, which a ${method} has not`,
      {
        hint: 'set `method: POST`, or place the login in a header',
      },
    );
  let content: JsonValue | undefined;
  try {
    content = body === undefined ? undefined : parseJson(body);
  } catch {
    throw new ConnectorError('refused', 'the login belongs into a JSON body, and this is none', {
      hint: 'place the login in a header',
    });
  }
  for (const [name, value] of added) content = withField(content, name, value);
  return stringifyJson(content ?? {});
}

/** The same address below the base that the login gives; others stay as they are. */
export function rebased(url: string, from: string, to: string): string {
  const base = from.replace(/[?#].*$/s, '').replace(/\/+$/, '');
  const rest = url.slice(base.length);
  return url.startsWith(base) && /^([/?#]|$)/.test(rest) ? joinUrl(to, rest) : url;
}
