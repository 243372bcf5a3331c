import { defineCredential } from '../../kit/credential.ts';
import type { Credential, CredentialContext, RequestParts } from '../../kit/context.ts';
import type { Redactor } from '../../lib/redact.ts';
import { ConnectorError } from '../../lib/errors.ts';
import { isHttpUrl } from '../../lib/http/http-url.ts';
import { setField, type JsonObject, type JsonValue } from '../../lib/text/json.ts';
import { registerTexts } from '../fields.ts';
import { cachedToken } from '../token-cache.ts';
import { askForAnswer } from '../token-request.ts';
import { captured } from './capture.ts';
import { flowConfig, isPlacement, type FlowConfig, type FlowRequest } from './config.ts';
import { signatureHeader, withRequestValues } from './sign.ts';
import { filled, filledJson, type TemplateValues } from './template.ts';

export const flowCredential = defineCredential<FlowConfig>({
  type: 'flow',
  description:
    'Logs in with requests of its own, captures values of their answers, and puts them into requests or signs these.',
  config: flowConfig,
  namesValues: true,
  examples: [
    {
      steps: [
        {
          request: {
            method: 'POST',
            url: 'https://api.example.com/login',
            json: { user: 'mover', password: 'abcd1234' },
          },
          capture: { token: '$.session.token', host: '$.session.base_url' },
        },
      ],
      apply: [{ into: 'header', name: 'Authorization', value: 'Bearer ${token}' }],
      base_url_from: 'host',
      reauth_on: [403],
    },
    {
      apply: [
        { into: 'header', name: 'X-Timestamp', value: '${ts}' },
        {
          sign: {
            key: 'abcd1234',
            template: '${ts}.${nonce}',
            into: { header: 'X-Signature', format: 'v1=${sig}' },
          },
        },
        { into: 'header', name: 'X-Nonce', value: '${nonce}' },
      ],
    },
  ],
  open(config, context) {
    hideSecrets(config, context.env.redactor);
    const { ttl_secs: seconds } = config;
    return cachedToken({
      clock: context.env.clock,
      expiryRatio: 1,
      request: async () => ({
        credential: credentialOf(config, await loggedIn(config, context), context),
        lifetimeMs: seconds === undefined ? undefined : seconds * 1000,
      }),
    });
  },
});

/** What the steps have captured. */
async function loggedIn(config: FlowConfig, context: CredentialContext): Promise<TemplateValues> {
  const { redactor, clock } = context.env;
  let values = new Map<string, string>();
  for (const { request, capture } of config.steps) {
    const all = withRequestValues(values, clock);
    const needsBody = Object.values(capture).some(({ from }) => from === 'json' || from === 'xml');
    const answer = await askForAnswer(requestOf(request, all), context, {
      acceptsRedirect: Object.keys(capture).length > 0 && !needsBody,
    });
    const found = captured(answer, capture);
    for (const [name, value] of found) if (name !== config.base_url_from) redactor.register(value);
    values = new Map([...values, ...found]);
  }
  return values;
}

function requestOf(
  { method, url, headers, query, form, json, sign }: FlowRequest,
  values: TemplateValues,
) {
  const address = new URL(filled(url, values));
  for (const [name, value] of Object.entries(query))
    address.searchParams.set(name, filled(value, values));
  const body = form === undefined ? json : ({ ...form } as JsonObject);
  return {
    url: address.href,
    method: method.toUpperCase(),
    encoding: form === undefined ? ('json' as const) : ('form' as const),
    body: body === undefined ? undefined : filledJson(body, values),
    headers: {
      ...Object.fromEntries(
        Object.entries(headers).map(([name, value]) => [name, filled(value, values)]),
      ),
      ...(sign === undefined ? {} : signatureHeader(sign, values)),
    },
  };
}

function credentialOf(
  config: FlowConfig,
  values: TemplateValues,
  { env }: CredentialContext,
): Credential {
  const { base_url_from: from } = config;
  const baseUrl = from === undefined ? undefined : values.get(from);
  if (baseUrl !== undefined && !isHttpUrl(baseUrl))
    throw new ConnectorError('auth', `what \`${from}\` captures is not an http or https address`, {
      hint: 'check `base_url_from`',
    });
  return {
    headers: {},
    query: {},
    ...(baseUrl === undefined ? {} : { baseUrl }),
    refusedBy: [401, ...config.reauth_on],
    perRequest: () => partsOf(config, withRequestValues(values, env.clock)),
  };
}

function partsOf({ apply }: FlowConfig, values: TemplateValues): RequestParts {
  const headers: Record<string, string> = {};
  const query: Record<string, string> = {};
  const body: Record<string, JsonValue> = {};
  const cookies: string[] = [];
  for (const one of apply) {
    if (!isPlacement(one)) {
      Object.assign(headers, signatureHeader(one.sign, values));
      continue;
    }
    const value = filled(one.value, values);
    if (one.into === 'header') headers[one.name] = value;
    else if (one.into === 'query') query[one.name] = value;
    else if (one.into === 'cookie') cookies.push(`${one.name}=${value}`);
    else setField(body, one.name, value);
  }
  if (cookies.length > 0) headers['cookie'] = cookies.join('; ');
  return { headers, query, body };
}

/** Texts of the steps whose names sound like secrets, and the keys of signatures. */
function hideSecrets({ steps, apply }: FlowConfig, redactor: Redactor): void {
  for (const { request } of steps) {
    const { headers, query, form, json, sign } = request;
    registerTexts({ headers, query, form: form ?? null, json: json ?? null }, redactor);
    if (sign !== undefined) hideLiteral(sign.key, redactor);
  }
  for (const one of apply)
    if (isPlacement(one)) hideLiteral(one.value, redactor);
    else hideLiteral(one.sign.key, redactor);
}

/** A template is no secret; what it is filled with is registered where it comes in. */
function hideLiteral(text: string, redactor: Redactor): void {
  if (!text.includes('${')) redactor.register(text);
}
