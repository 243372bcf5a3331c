/** The event as JSON, to any address. */
import type { WebhookConfig } from '../../../blocks/notifications/schema.ts';
import { hmacSha256 } from '../../../lib/crypto/hmac.ts';
import { setField, stringifyJson, type JsonObject } from '../../../lib/text/json.ts';
import type { NotificationEvent } from '../event.ts';
import type { Message } from './message.ts';

export function webhookMessage(config: WebhookConfig, event: NotificationEvent): Message {
  const payload: JsonObject = { ...event, details: { ...event.details } };
  for (const [key, value] of Object.entries(config.extra_fields)) setField(payload, key, value);
  const body = stringifyJson(payload);
  const { hmac_secret: secret, signature_header: header } = config;
  return {
    url: config.url,
    method: config.method.toUpperCase(),
    headers: {
      'content-type': 'application/json',
      ...config.headers,
      ...(secret === undefined ? {} : { [header]: hmacSha256(secret)(body) }),
    },
    body,
  };
}
