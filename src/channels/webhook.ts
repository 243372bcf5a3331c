/** The event as JSON, to any address. */
import { z } from 'zod';
import { defineChannel, type ChannelMessage } from '../kit/channel.ts';
import { PAYLOAD_KEYS, type NotificationEvent } from '../kit/notification-event.ts';
import { finding, json, nullAsAbsent, optional, text } from '../kit/schema.ts';
import { hmacSha256 } from '../lib/crypto/hmac.ts';
import { carriesBody, headerFault } from '../lib/http/outgoing-request.ts';
import { setField, stringifyJson, type JsonObject } from '../lib/text/json.ts';
import { address, secretAddress } from './address.ts';

const config = z.lazy(() =>
  z.strictObject({
    url: address().meta({ description: 'Address that is sent the event.', secret: true }),
    method: nullAsAbsent(
      text()
        .superRefine((method, ctx) => {
          if (!/^[A-Za-z0-9!#$%&'*+.^_`|~-]*$/.test(method))
            ctx.addIssue(finding('invalid_value', 'is not an HTTP method'));
          else if (!carriesBody(method))
            ctx.addIssue(
              finding('invalid_value', `a ${method.toUpperCase()} request carries no body`, {
                hint: 'use POST, PUT, PATCH or DELETE',
              }),
            );
        })
        .default('POST'),
    ).meta({ description: 'HTTP method.' }),
    headers: nullAsAbsent(
      z
        .record(z.string(), z.string())
        .superRefine((headers, ctx) => {
          for (const [name, value] of Object.entries(headers)) {
            const fault = headerFault(name, value);
            if (fault !== undefined)
              ctx.addIssue(finding('invalid_value', fault, { path: [name] }));
          }
        })
        .default({}),
    ).meta({ description: 'Further headers of the request.', secret: true }),
    hmac_secret: optional(text()).meta({
      description:
        'Signs the body: the HMAC-SHA256 of its bytes goes into a header, as lowercase hexadecimal digits.',
      secret: true,
    }),
    signature_header: nullAsAbsent(
      text()
        .superRefine((name, ctx) => {
          const fault = headerFault(name, '');
          if (fault !== undefined) ctx.addIssue(finding('invalid_value', fault));
        })
        .default('X-Svc-Signature'),
    ).meta({ description: 'Header that carries the signature.' }),
    extra_fields: nullAsAbsent(
      z
        .record(z.string(), json())
        .superRefine((fields, ctx) => {
          for (const key of PAYLOAD_KEYS) {
            if (!Object.hasOwn(fields, key)) continue;
            ctx.addIssue(
              finding('conflicting_keys', `\`${key}\` is a field of the event itself`, {
                path: [key],
                hint: 'give it another name',
              }),
            );
          }
        })
        .default({}),
    ).meta({ description: 'Further fields of the body, beside those of the event.' }),
  }),
);
type Config = z.infer<typeof config>;

export const webhook = defineChannel<Config>({
  type: 'webhook',
  description: 'The event as JSON, to any address.',
  config,
  examples: [
    { url: 'https://ledger.example.com/runs', hmac_secret: 'a shared secret' },
    {
      url: 'https://ledger.example.com/runs',
      method: 'PUT',
      headers: { authorization: 'Bearer token' },
      extra_fields: { environment: 'prod' },
    },
  ],
  address: ({ url }) => url,
  secrets: ({ url, hmac_secret: secret = '', headers }) => [
    ...secretAddress(url),
    secret,
    ...Object.values(headers),
  ],
  message: messageOf,
});

function messageOf(settings: Config, event: NotificationEvent): ChannelMessage {
  const payload: JsonObject = { ...event, details: { ...event.details } };
  for (const [key, value] of Object.entries(settings.extra_fields)) setField(payload, key, value);
  const body = stringifyJson(payload);
  const { hmac_secret: secret, signature_header: header } = settings;
  return {
    url: settings.url,
    method: settings.method.toUpperCase(),
    headers: {
      'content-type': 'application/json',
      ...settings.headers,
      ...(secret === undefined ? {} : { [header]: hmacSha256(secret)(body) }),
    },
    body,
  };
}
