import type { CredentialContext } from '../kit/context.ts';
import { ConnectorError, messageOf, isTransient, type ConnectorErrorKind } from '../lib/errors.ts';
import { kindOfStatus, retryAfterMs } from '../lib/http/status-kind.ts';
import { excerptOf } from '../lib/text/excerpt.ts';
import { parseJson, stringifyJson, type JsonObject, type JsonValue } from '../lib/text/json.ts';
import { readLimited } from '../lib/http/response-text.ts';

const TIMEOUT_MS = 30_000;
const LONGEST_ANSWER_BYTES = 1024 * 1024;

export interface TokenRequest {
  readonly url: string;
  readonly method: string;
  readonly encoding: 'json' | 'form';
  readonly body?: JsonValue | undefined;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface TokenAnswer {
  readonly headers: Headers;
  readonly text: string;
  /** The address, safe to show. */
  readonly where: string;
}

/** Sends a request to a token endpoint and returns its JSON response. */
export async function requestToken(
  request: TokenRequest,
  context: CredentialContext,
): Promise<JsonValue> {
  const { text, where } = await askForAnswer(request, context);
  try {
    return parseJson(text);
  } catch (error) {
    throw new ConnectorError('auth', `the token endpoint ${where} does not answer with JSON`, {
      cause: error,
    });
  }
}

/**
 * Sends a request that logs in. Redirects are not followed, because the request contains secrets; with
 * `acceptsRedirect` one is an answer as good as others, of which headers and cookies are wanted.
 */
export async function askForAnswer(
  request: TokenRequest,
  context: CredentialContext,
  { acceptsRedirect = false } = {},
): Promise<TokenAnswer> {
  const where = safeAddress(request.url);
  const response = await send(request, context, where);
  const text = await readText(response, where);
  const isRedirect = response.status >= 300 && response.status < 400;
  if (isRedirect && !acceptsRedirect) {
    throw new ConnectorError('auth', `the token endpoint ${where} answers with a redirect`, {
      status: response.status,
      hint: 'name the final address; a redirect is not followed because the request holds secrets',
    });
  }
  if (!response.ok && !isRedirect) {
    const excerpt = excerptOf(text, context.env.redactor);
    const asked = retryAfterMs(response.headers.get('retry-after'), context.env.clock.now());
    throw new ConnectorError(
      kindOf(response.status),
      `the token endpoint ${where} answers ${response.status}: ${excerpt}`,
      { status: response.status, ...(asked === undefined ? {} : { retryAfterMs: asked }) },
    );
  }
  return { headers: response.headers, text, where };
}

async function send(
  request: TokenRequest,
  context: CredentialContext,
  where: string,
): Promise<Response> {
  const { env, signal } = context;
  const { body, type } = encode(request);
  try {
    return await env.fetch(request.url, {
      method: request.method,
      redirect: 'manual',
      headers: {
        accept: 'application/json',
        ...(type === undefined ? {} : { 'content-type': type }),
        ...request.headers,
      },
      signal: AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]),
      ...(body === undefined ? {} : { body }),
    });
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof DOMException && error.name === 'TimeoutError') {
      throw new ConnectorError(
        'timeout',
        `the token endpoint ${where} did not answer within ${TIMEOUT_MS / 1000} s`,
        { cause: error },
      );
    }
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
    throw new ConnectorError(
      'connection',
      `the token endpoint ${where} cannot be reached: ${messageOf(cause)}`,
      { cause: error },
    );
  }
}

function encode({ body, encoding, method }: TokenRequest): {
  readonly body?: string;
  readonly type?: string;
} {
  if (body === undefined || method === 'GET' || method === 'HEAD') return {};
  if (encoding === 'json') return { body: stringifyJson(body), type: 'application/json' };
  const form = new URLSearchParams();
  for (const [name, value] of Object.entries(body as JsonObject))
    form.set(name, typeof value === 'string' ? value : stringifyJson(value));
  return { body: form.toString(), type: 'application/x-www-form-urlencoded' };
}

async function readText(response: Response, where: string): Promise<string> {
  let text: string | undefined;
  try {
    text = await readLimited(response, LONGEST_ANSWER_BYTES);
  } catch (error) {
    throw new ConnectorError('connection', `the answer of the token endpoint ${where} broke off`, {
      cause: error,
    });
  }
  if (text !== undefined) return text;
  throw new ConnectorError(
    'auth',
    `the answer of the token endpoint ${where} is larger than ${LONGEST_ANSWER_BYTES} bytes`,
  );
}

/** Any other refusal of a token endpoint is an error of the login. */
function kindOf(status: number): ConnectorErrorKind {
  const kind = kindOfStatus(status);
  return isTransient(kind) ? kind : 'auth';
}

function safeAddress(url: string): string {
  const { origin, pathname } = new URL(url);
  return `${origin}${pathname}`;
}
