import { z } from 'zod';
import { finding, number, text } from '../kit/schema.ts';
import { isHttpUrl } from '../lib/http/http-url.ts';

/** Fields that several credential types share. */

export function httpUrl(description: string) {
  return z
    .string()
    .superRefine((value, ctx) => {
      if (!isHttpUrl(value)) {
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
