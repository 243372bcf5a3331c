import type { JsonValue as PathValue } from 'jsonpath-rfc9535';
import { z } from 'zod';
import { defineCredential } from '../kit/credential.ts';
import type { Credential } from '../kit/context.ts';
import { tokenHeaderFields, tokenRequestFields } from '../kit/login-fields.ts';
import { finding, optional, text } from '../kit/schema.ts';
import { ConnectorError } from '../lib/errors.ts';
import { isObject, type JsonValue } from '../lib/text/json.ts';
import type { Redactor } from '../lib/redact.ts';
import { expiryRatio, httpUrl, isJsonPath, jsonPathLibrary, registerTexts } from './fields.ts';
import { secondsOf } from './oauth2.ts';
import { bearer, namedHeader } from './placement.ts';
import { cachedToken } from './token-cache.ts';
import { requestToken } from './token-request.ts';

const TOKEN = '{token}';

const applyAs = z.lazy(() => {
  const { header, template } = tokenHeaderFields();
  return z.strictObject({
    header,
    template: template.superRefine((value, ctx) => {
      if (!value.includes(TOKEN))
        ctx.addIssue(
          finding('invalid_value', '`template` must contain `{token}`', {
            hint: 'e.g. `Token {token}`',
          }),
        );
    }),
  });
});

const config = z.lazy(() =>
  z
    .strictObject({
      url: httpUrl('Address that hands out tokens.'),
      ...tokenRequestFields(),
      token_path: jsonPath('JSONPath of the token in the answer.'),
      expiry_path: optional(jsonPath('JSONPath of the lifetime in seconds.')).meta({
        description:
          'JSONPath of the lifetime in seconds; unset: a token is kept until it is refused.',
      }),
      expiry_ratio: expiryRatio(),
      apply_as: optional(applyAs).meta({
        description: 'How requests carry the token; unset: as a bearer token.',
      }),
    })
    .superRefine((value, ctx) => {
      if (value.encoding === 'form' && value.body !== undefined && !isObject(value.body)) {
        ctx.addIssue(
          finding('wrong_type', 'a form `body` must be a mapping', {
            path: ['body'],
            hint: 'or set `encoding: json`',
          }),
        );
      }
    }),
);

export const tokenEndpointCredential = defineCredential<z.infer<typeof config>>({
  type: 'token_endpoint',
  description: 'Asks any HTTP endpoint for a token and places it in a header.',
  config,
  examples: [
    {
      url: 'https://api.example.com/login',
      body: { user: 'mover', password: 'abcd1234' },
      token_path: '$.session.token',
    },
    {
      url: 'https://api.example.com/login',
      encoding: 'form',
      body: { user: 'mover' },
      token_path: '$.token',
      expiry_path: '$.ttl',
      apply_as: { header: 'X-Session', template: 'Session {token}' },
    },
  ],
  open(value, context) {
    const { redactor, clock } = context.env;
    registerTexts(value.body, redactor);
    const request = {
      url: value.url,
      method: value.method.toUpperCase(),
      encoding: value.encoding,
      body: value.body,
    };
    return cachedToken({
      clock,
      expiryRatio: value.expiry_ratio,
      request: async () => {
        const answer = await requestToken(request, context);
        const seconds =
          value.expiry_path === undefined
            ? undefined
            : secondsOf(firstMatch(answer, value.expiry_path));
        const token = textAt(answer, value.token_path);
        return {
          credential: place(token, value.apply_as, redactor),
          lifetimeMs: seconds === undefined ? undefined : seconds * 1000,
        };
      },
    });
  },
});

function jsonPath(description: string) {
  return text()
    .superRefine((value, ctx) => {
      if (!isJsonPath(value))
        ctx.addIssue(
          finding('invalid_value', `\`${value}\` is not a JSONPath`, {
            hint: 'e.g. `$.data.token`',
          }),
        );
    })
    .meta({ description });
}

function place(
  token: string,
  as: z.infer<typeof applyAs> | undefined,
  redactor: Redactor,
): Credential {
  redactor.register(token);
  if (as === undefined) return bearer(token, redactor);
  return {
    ...namedHeader(
      as.header,
      as.template.replaceAll(TOKEN, () => token),
      redactor,
    ),
    token,
  };
}

function textAt(answer: JsonValue, path: string): string {
  const found = firstMatch(answer, path);
  if (typeof found === 'string' && found !== '') return found;
  const says = found === undefined ? 'holds nothing' : 'does not hold a text';
  throw new ConnectorError('auth', `the answer of the token endpoint ${says} at \`${path}\``, {
    hint: 'check `token_path`',
  });
}

function firstMatch(answer: JsonValue, path: string): JsonValue | undefined {
  // The library ignores integers beyond the safe range and passes them on unchanged.
  return jsonPathLibrary().query(answer as PathValue, path)[0];
}
