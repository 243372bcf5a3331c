import { createHmac, randomBytes } from 'node:crypto';
import { z } from 'zod';
import { defineCredential } from '../kit/credential.ts';
import type { CalledRequest } from '../kit/context.ts';
import { optional, text } from '../kit/schema.ts';
import { fixed } from './placement.ts';

const METHOD = 'HMAC-SHA256';

const config = z.lazy(() =>
  z.strictObject({
    consumer_key: text().meta({ description: 'Key of the client.', secret: true }),
    consumer_secret: text().meta({ description: 'Secret of the client.', secret: true }),
    token: text().meta({ description: 'Access token.', secret: true }),
    token_secret: text().meta({ description: 'Secret of the token.', secret: true }),
    realm: optional(text()).meta({
      description: 'Realm of the `Authorization` header; some services want the account there.',
    }),
    signature_method: z
      .preprocess(
        (value) => (typeof value === 'string' ? value.toUpperCase().replaceAll('_', '-') : value),
        z.literal(METHOD).default(METHOD),
      )
      .meta({ description: 'How requests are signed.' }),
  }),
);

type Oauth1Config = z.infer<typeof config>;

export const oauth1Credential = defineCredential<Oauth1Config>({
  type: 'oauth1',
  description: 'OAuth 1.0a: signs each request with HMAC-SHA256 (RFC 5849).',
  config,
  examples: [
    {
      consumer_key: 'ck-0001',
      consumer_secret: 'abcd1234',
      token: 'tk-0001',
      token_secret: 'efgh5678',
      realm: '1234567',
    },
  ],
  open(value, { env }) {
    const { consumer_key: key, consumer_secret: secret, token, token_secret: other } = value;
    for (const one of [key, secret, token, other]) env.redactor.register(one);
    return fixed({
      headers: {},
      query: {},
      perRequest: (call) => {
        const nonce = randomBytes(16).toString('hex');
        return { headers: { authorization: signed(value, call, { now: env.clock.now(), nonce }) } };
      },
    });
  },
});

type Pair = readonly [name: string, value: string];

/** The `Authorization` header of a request. */
export function signed(
  value: Oauth1Config,
  { method, url }: CalledRequest,
  { now, nonce }: { readonly now: Date; readonly nonce: string },
): string {
  const address = new URL(url);
  const own: Pair[] = [
    ['oauth_consumer_key', value.consumer_key],
    ['oauth_nonce', nonce],
    ['oauth_signature_method', METHOD],
    ['oauth_timestamp', String(Math.floor(now.getTime() / 1000))],
    ['oauth_token', value.token],
    ['oauth_version', '1.0'],
  ];
  const base = [
    method.toUpperCase(),
    `${address.protocol}//${address.host}${address.pathname}`,
    normalized([...address.searchParams, ...own]),
  ];
  const key = [value.consumer_secret, value.token_secret].map(encoded).join('&');
  const signature = createHmac('sha256', key).update(base.map(encoded).join('&')).digest('base64');
  const realm: Pair[] = value.realm === undefined ? [] : [['realm', value.realm]];
  const shown = [...realm, ...own, ['oauth_signature', signature] as const];
  return `OAuth ${shown.map(([name, one]) => `${name}="${encoded(one)}"`).join(', ')}`;
}

/** RFC 5849, 3.4.1.3.2: encoded, sorted by name and then by value. */
function normalized(pairs: readonly Pair[]): string {
  return pairs
    .map(([name, value]) => [encoded(name), encoded(value)] as const)
    .sort(([a, x], [b, y]) => compared(a, b) || compared(x, y))
    .map(([name, value]) => `${name}=${value}`)
    .join('&');
}

function compared(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** RFC 5849, 3.6. */
function encoded(value: string): string {
  return encodeURIComponent(value).replaceAll(
    /[!'()*]/g,
    (letter) => `%${letter.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}
