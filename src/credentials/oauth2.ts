import { z } from 'zod';
import { defineCredential } from '../kit/credential.ts';
import type { CredentialContext } from '../kit/context.ts';
import { text } from '../kit/schema.ts';
import { ConnectorError } from '../lib/errors.ts';
import { isObject, type JsonObject, type JsonValue } from '../lib/text/json.ts';
import { clientFields, expiryRatio } from './fields.ts';
import { bearer } from './placement.ts';
import { cachedToken, type FreshToken } from './token-cache.ts';
import { requestToken } from './token-request.ts';

const config = z.lazy(() =>
  z.strictObject({
    ...clientFields(),
    scopes: z
      .array(text())
      .default([])
      .meta({ description: 'Scopes to ask for; left out of the request when empty.' }),
    expiry_ratio: expiryRatio(),
  }),
);

export const oauth2Credential = defineCredential<z.infer<typeof config>>({
  type: 'oauth2',
  description: 'OAuth 2.0 client credentials: asks for a token and renews it before it expires.',
  config,
  examples: [
    {
      token_url: 'https://login.example.com/token',
      client_id: 'mover',
      client_secret: 'abcd1234',
      scopes: ['orders.read'],
    },
  ],
  open(value, context) {
    context.env.redactor.register(value.client_secret);
    const body: JsonObject = {
      grant_type: 'client_credentials',
      client_id: value.client_id,
      client_secret: value.client_secret,
    };
    if (value.scopes.length > 0) body['scope'] = value.scopes.join(' ');
    return cachedToken({
      clock: context.env.clock,
      expiryRatio: value.expiry_ratio,
      request: async () =>
        tokenOf(
          await requestToken(
            { url: value.token_url, method: 'POST', encoding: 'form', body },
            context,
          ),
          context,
        ),
    });
  },
});

/** Reads `access_token` and `expires_in` of an OAuth answer (RFC 6749, 5.1). */
export function tokenOf(answer: JsonValue, context: CredentialContext): FreshToken {
  const token = isObject(answer) ? answer['access_token'] : undefined;
  if (typeof token !== 'string' || token === '') {
    throw new ConnectorError('auth', 'the token endpoint answered without `access_token`', {
      hint: 'check the client and its grants',
    });
  }
  const seconds = isObject(answer) ? secondsOf(answer['expires_in']) : undefined;
  const credential = bearer(token, context.env.redactor);
  return { credential, lifetimeMs: seconds === undefined ? undefined : seconds * 1000 };
}

/** Some servers write the lifetime as text. */
export function secondsOf(value: JsonValue | undefined): number | undefined {
  const seconds = typeof value === 'string' && value.trim() !== '' ? Number(value) : value;
  return typeof seconds === 'number' && Number.isFinite(seconds) && seconds >= 0
    ? seconds
    : undefined;
}
