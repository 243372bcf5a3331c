import { z } from 'zod';
import { finding, number, text } from '../kit/schema.ts';
import { isHttpUrl } from '../lib/http/http-url.ts';
import { lazyLibrary } from '../lib/lazy.ts';
import type { Redactor } from '../lib/redact.ts';
import { isObject, type JsonValue } from '../lib/text/json.ts';

export const jsonPathLibrary = lazyLibrary<typeof import('jsonpath-rfc9535')>('jsonpath-rfc9535');

/** Fields that several credential types share. */

/** `accepts`: what need not be a whole address yet. */
export function httpUrl(description: string, accepts: (value: string) => boolean = () => false) {
  return z
    .string()
    .superRefine((value, ctx) => {
      if (!accepts(value) && !isHttpUrl(value)) {
        ctx.addIssue(
          finding('invalid_value', 'this is not an http or https address', {
            hint: 'write it in full, e.g. `https://login.example.com/token`',
          }),
        );
      }
    })
    .meta({ description });
}

export function expiryRatio() {
  return number()
    .default(0.9)
    .superRefine((value, ctx) => {
      if (value <= 0 || value > 1)
        ctx.addIssue(finding('out_of_range', 'must be greater than 0 and at most 1'));
    })
    .meta({ description: 'Part of the lifetime of a token after which a new one is asked for.' });
}

export function clientFields() {
  return {
    token_url: httpUrl('Address of the token endpoint.'),
    client_id: text().meta({ description: 'Client id.' }),
    client_secret: text().meta({
      description: 'Client secret; sent in the form body.',
      secret: true,
    }),
  };
}

export function isJsonPath(path: string): boolean {
  try {
    jsonPathLibrary().query(null, path);
    return true;
  } catch {
    return false;
  }
}

/** Hides texts of a login body whose name sounds like a secret. */
export function registerTexts(body: JsonValue | undefined, redactor: Redactor, name = ''): void {
  if (
    typeof body === 'string' &&
    /pass|secret|token|key|credential|assertion|authorization|cookie/i.test(name)
  )
    redactor.register(body);
  if (Array.isArray(body)) for (const item of body) registerTexts(item, redactor, name);
  else if (isObject(body))
    for (const [key, value] of Object.entries(body)) registerTexts(value, redactor, key);
}
